package shop

import (
	"errors"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
	"github.com/cronce/cronce/scheduler"
)

// deliverJob makes the job that posts the events of the shop.
func deliverJob(f *settings.File, sale *stock.Sale) (scheduler.Job, error) {
	const section = "shop.events.webhook"
	o := f.Webhook()
	secrets, err := webhookSecrets(f, section, o)
	if err != nil {
		return scheduler.Job{}, err
	}
	job, err := events.Job(sale, events.Options{URL: o.URL, Plain: o.AllowPlain, Secrets: secrets, Timeout: time.Duration(settings.Value(o.Timeout)), Concurrency: settings.Value(o.Concurrency)})
	return job, eventFaults(f, section, err)
}

// webhookSecrets returns a function that returns the keys that sign events: a key, and an old one
// until the receiver has the new one. It reads files again when they change.
func webhookSecrets(f *settings.File, at string, o *settings.Webhook) (func() []string, error) {
	if o.SecretEnv == "" && o.SecretFile == "" {
		return nil, f.Fault(at+".secret_env", "and secret_file are both missing, set one of them: the receiver proves by the secret where an event is from")
	}
	now, err := f.SecretSource(at+".secret", o.SecretFile, o.SecretEnv)
	if err != nil {
		return nil, err
	}
	old, err := f.SecretSource(at+".old_secret", o.OldSecretFile, o.OldSecretEnv)
	if err != nil {
		return nil, err
	}
	return func() []string {
		secrets := []string{now().Text()}
		if text := old().Text(); text != "" {
			secrets = append(secrets, text)
		}
		return secrets
	}, nil
}

// eventFaults adds the place in the file to the faults of the webhook.
func eventFaults(f *settings.File, at string, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		field, ok := errors.AsType[*stock.FieldError](e)
		switch {
		case ok && field.Field == "secrets":
			e = f.Fault(at+".secret_env", "or secret_file, or the old secret, is %s, must be %s", field.Value, field.Allowed)
		case ok:
			e = f.Fault(at+"."+field.Field, "is %s, must be %s", field.Value, field.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
