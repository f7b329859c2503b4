package node

import (
	"errors"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// smsKind makes the job that sends the due messages of the outbox.
func smsKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	var s config.SMS
	if j.SMS != nil {
		s = *j.SMS
	}
	outbox, outboxErr := sms.NewOutbox(p.client, sms.Options{Namespace: c.Namespace, Retention: time.Duration(s.Retention)})
	gateway, gatewayErr := smsGateway(c, at+".sms", &s, p)
	err := errors.Join(smsFaults(c, at+".sms", outboxErr), gatewayErr, smsBounds(c, at+".sms", &s))
	if err != nil || outbox == nil { // no outbox and no error: the fault of the namespace is already reported
		return scheduler.Job{Name: sms.JobName, Spec: sms.JobSpec, Func: idle}, err
	}
	var options []sms.Option
	if s.Batch > 0 {
		options = append(options, sms.Batch(s.Batch))
	}
	if s.Concurrency > 0 {
		options = append(options, sms.Concurrency(s.Concurrency))
	}
	if s.Rate > 0 {
		options = append(options, sms.Rate(s.Rate))
	}
	if s.Attempts > 0 {
		options = append(options, sms.Attempts(s.Attempts))
	}
	return sms.Job(outbox, gateway, options...), nil
}

func smsGateway(c *config.Config, at string, s *config.SMS, p resources) (sms.Gateway, error) {
	switch s.Gateway {
	case "console":
		if s.URL != "" || s.TokenEnv != "" || s.TokenFile != "" || s.Timeout != 0 {
			return nil, c.Fault(at+".gateway", "console takes no url, token or timeout: write http, or leave them out")
		}
		return sms.NewConsole(p.out), nil
	case "http":
	default: // a missing gateway is refused: a forgotten line must not send messages to a console
		return nil, c.Fault(at+".gateway", "is %s, must be console or http", strictyaml.Quote(s.Gateway))
	}
	h := sms.HTTPConfig{URL: s.URL, Timeout: time.Duration(s.Timeout)}
	if !p.dry {
		token, err := c.SecretSource(at+".token", s.TokenFile, s.TokenEnv)
		if err != nil {
			return nil, err
		}
		h.Token = sms.Secret(token().Text())
		if h.Token != "" {
			if err := c.TokenInPlain(at+".url", s.URL); err != nil {
				return nil, err
			}
		}
		if s.TokenFile != "" {
			h.TokenSource = func() sms.Secret { return sms.Secret(token().Text()) }
		}
	}
	g, err := sms.NewHTTP(h)
	if err != nil {
		return nil, smsFaults(c, at, err)
	}
	return g, nil
}

// smsBounds refuses values that package sms would move to the nearest bound.
func smsBounds(c *config.Config, at string, s *config.SMS) error {
	var errs []error
	for _, n := range []struct {
		key        string
		value, max int
	}{{"batch", s.Batch, 1_000_000}, {"concurrency", s.Concurrency, 100}, {"rate", s.Rate, 10_000}, {"attempts", s.Attempts, 1000}} {
		if n.value < 0 || n.value > n.max {
			errs = append(errs, c.Fault(at+"."+n.key, "is %d, must be 1 to %d", n.value, n.max))
		}
	}
	return errors.Join(errs...)
}

// smsFaults adds the place in the file to the faults of package sms.
func smsFaults(c *config.Config, at string, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		f, ok := errors.AsType[*sms.FieldError](e)
		if ok && f.Field == "namespace" {
			continue // already refused by config.faults
		}
		if ok {
			e = c.Fault(at+"."+f.Field, "is %s, must be %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
