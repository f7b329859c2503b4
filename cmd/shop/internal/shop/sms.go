package shop

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/health"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// sendJob makes the job that sends the due messages of the outbox.
func sendJob(f *settings.File, out io.Writer, client redis.UniversalClient) (scheduler.Job, error) {
	s := f.SMS
	outbox, outboxErr := sms.NewOutbox(client, sms.Options{Namespace: f.Namespace, Retention: time.Duration(settings.Value(s.Retention))})
	gateway, gatewayErr := smsGateway(f, out)
	if err := errors.Join(smsFaults(f, outboxErr), gatewayErr, smsBounds(f)); err != nil || outbox == nil {
		return scheduler.Job{}, err
	}
	var options []sms.Option
	if s.Batch != nil {
		options = append(options, sms.Batch(*s.Batch))
	}
	if s.Concurrency != nil {
		options = append(options, sms.Concurrency(*s.Concurrency))
	}
	if s.Rate != nil {
		options = append(options, sms.Rate(*s.Rate))
	}
	if s.Attempts != nil {
		options = append(options, sms.Attempts(*s.Attempts))
	}
	return sms.Job(outbox, gateway, options...), nil
}

func smsGateway(f *settings.File, out io.Writer) (sms.Gateway, error) {
	s := f.SMS
	switch s.Gateway {
	case "console":
		if s.URL != "" || s.TokenEnv != "" || s.TokenFile != "" || s.Timeout != nil {
			return nil, f.Fault("sms.gateway", "console takes no url, token or timeout: write http, or leave them out")
		}
		return sms.NewConsole(out), nil
	case "http":
	default: // a missing gateway is refused, because otherwise a forgotten line would send messages to a console
		return nil, f.Fault("sms.gateway", "is %s, must be console or http", strictyaml.Quote(s.Gateway))
	}
	token, err := f.SecretSource("sms.token", s.TokenFile, s.TokenEnv)
	if err != nil {
		return nil, err
	}
	if s.TokenEnv != "" && token().Text() == "" {
		return nil, f.Fault("sms.token_env", "names a variable that is empty")
	}
	h := sms.HTTPConfig{URL: s.URL, Timeout: time.Duration(settings.Value(s.Timeout)), Token: sms.Secret(token().Text())}
	if h.Token != "" {
		if err := f.TokenInPlain("sms.url", s.URL); err != nil {
			return nil, err
		}
	}
	if s.TokenFile != "" {
		h.TokenSource = func() sms.Secret { return sms.Secret(token().Text()) }
	}
	g, err := sms.NewHTTP(h)
	if err != nil {
		return nil, smsFaults(f, err)
	}
	return g, nil
}

// smsBounds refuses values that package sms would move to the nearest bound.
func smsBounds(f *settings.File) error {
	var errs []error
	for _, n := range []struct {
		key   string
		value *int
		max   int
	}{{"batch", f.SMS.Batch, 1_000_000}, {"concurrency", f.SMS.Concurrency, 100}, {"rate", f.SMS.Rate, 10_000}, {"attempts", f.SMS.Attempts, 1000}} {
		if n.value != nil && (*n.value < 1 || *n.value > n.max) {
			errs = append(errs, f.Fault("sms."+n.key, "is %d, must be 1 to %d", *n.value, n.max))
		}
	}
	return errors.Join(errs...)
}

// smsFaults adds the place in the file to the faults of package sms.
func smsFaults(f *settings.File, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		field, ok := errors.AsType[*sms.FieldError](e)
		if ok && field.Field == "namespace" {
			continue // the configuration has refused it
		}
		if ok {
			e = f.Fault("sms."+field.Field, "is %s, must be %s", field.Value, field.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// serveReceipts serves receipts from the start of the process. While Redis does not answer, it
// replies that a receipt is in doubt, and the gateway sends it again. The result is never nil, even
// if no address is served.
func serveReceipts(f *settings.File, client redis.Scripter, log *slog.Logger) (*health.Server, error) {
	if f.SMS == nil || f.SMS.Receipts == nil {
		return &health.Server{}, nil
	}
	const at = "sms.receipts"
	r := f.SMS.Receipts
	token, err := f.SecretSource(at+".token", r.TokenFile, r.TokenEnv)
	if err == nil && token().Text() == "" {
		err = f.Fault(at+".token_env", "names a variable that is empty")
	}
	if err != nil {
		return nil, exit.Usage(err)
	}
	now := func() sms.Secret { return sms.Secret(token().Text()) }
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: f.Namespace})
	if err != nil {
		return nil, err
	}
	return health.Serve(at, config.HTTP{Address: r.Address}, sms.NewReceipts(outbox, now, log), "receipts served", log)
}
