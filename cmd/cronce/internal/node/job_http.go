package node

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	jobhttp "github.com/cronce/cronce/jobs/http"
	"github.com/cronce/cronce/scheduler"
)

// httpKind makes a job that sends a request.
func httpKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	job := scheduler.Job{Func: idle}
	at += ".http"
	if j.HTTP == nil {
		return job, c.Fault(at, "is missing, must have a URL, as in http: {url: https://example.com/clean-up}")
	}
	request, err := httpRequest(c, at, j.HTTP, p)
	if err != nil {
		return job, err
	}
	if j.Retry != nil {
		request.MaxRetryAfter = max(0, time.Duration(j.Retry.Max)) // a negative one is a fault of retry
	}
	f, err := jobhttp.New(request)
	if err != nil {
		return job, httpFaults(c, at, j.HTTP, err)
	}
	job.Func = f
	if request.Repeatable() {
		return job, nil
	}
	job.Interrupted = scheduler.InterruptedLost
	return job, notAgain(c, strings.TrimSuffix(at, ".http"), j)
}

// notAgain refuses policies that repeat a request that the server may have received.
func notAgain(c *config.Config, at string, j *config.Job) error {
	const text = "is rerun, must be lost: another node would send a request again that the server may have received. With http.idempotent: true it may"
	var errs []error
	if j.Takeover != nil && scheduler.Takeover(*j.Takeover) == scheduler.TakeoverRerun {
		errs = append(errs, c.Fault(at+".takeover", text))
	}
	if j.Interrupted != nil && scheduler.Interrupted(*j.Interrupted) == scheduler.InterruptedRerun {
		errs = append(errs, c.Fault(at+".interrupted", text))
	}
	return errors.Join(errs...)
}

// httpRequest makes the request of a job from its settings.
func httpRequest(c *config.Config, at string, h *config.Call, p resources) (jobhttp.Request, error) {
	request := jobhttp.Request{Method: h.Method, SecretHeaders: map[string]func() string{}, Body: h.Body, Expect: h.Expect,
		Timeout: time.Duration(h.Timeout), Idempotent: h.Idempotent, AllowPrivate: h.AllowPrivate, Proxy: h.Proxy}
	url, secrets, err1 := c.ExpandNonempty(at+".url", h.URL, p.dry)
	plain, secret, values, err2 := c.CallHeaders(at, h, p.dry)
	if err := errors.Join(err1, err2); err != nil {
		return request, err
	}
	if p.dry && config.HasVariable(h.URL) { // the URL may begin with a variable
		url = "https://example.com"
	}
	request.URL, request.Headers, request.Secrets = url, plain, slices.Concat(secrets, values)
	for name, value := range secret {
		request.SecretHeaders[name] = func() string { return value().Text() }
	}
	if (len(secret) > 0 || config.TokenInURL(h.URL, secrets)) && !p.dry {
		return request, c.TokenInPlain(at+".url", url)
	}
	return request, nil
}

// httpFaults adds the place in the file to the faults of a request.
func httpFaults(c *config.Config, at string, h *config.Call, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		if f, ok := errors.AsType[*jobhttp.FieldError](e); ok {
			field := f.Field
			if name, ok := strings.CutPrefix(field, "headers."); ok {
				if _, ok := h.HeaderFile[name]; ok {
					field = "header_file." + name
				}
			}
			e = c.Fault(at+"."+field, "is %s, must be %s", f.Value, strings.ReplaceAll(f.Allowed, "AllowPrivate", "allow_private"))
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
