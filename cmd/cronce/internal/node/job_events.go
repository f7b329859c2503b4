package node

import (
	"errors"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
	"github.com/cronce/cronce/scheduler"
)

// deliverKind makes the job that posts the events of the shop.
func deliverKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	const section = "shop.events.webhook"
	idle := scheduler.Job{Name: events.JobName, Spec: events.JobSpec, Func: idle}
	switch {
	case !c.HasWebhook():
		return idle, c.Fault(at+".kind", "is %s, but there is no webhook: set it in the section shop.events", j.Kind)
	case p.shop.Sale == nil: // the shop has a fault
		return idle, nil
	}
	o := c.Shop.Events.Webhook
	secrets, err := webhookSecrets(c, section, o, p.dry)
	if err != nil {
		return idle, err
	}
	job, err := events.Job(p.shop.Sale, events.Options{URL: o.URL, Plain: o.AllowPlain, Secrets: secrets, Timeout: time.Duration(o.Timeout),
		Concurrency: o.Concurrency, Receiver: o.Receiver})
	if err != nil {
		return idle, eventFaults(c, section, err)
	}
	return job, nil
}

// webhookSecrets returns a function that returns the keys that sign events: a key and, until the
// receiver has the new one, the old key. The function reads files again when they change.
func webhookSecrets(c *config.Config, at string, o *config.Webhook, dry bool) (func() []string, error) {
	if o.SecretEnv == "" && o.SecretFile == "" {
		return nil, c.Fault(at+".secret_env", "and secret_file are both missing, set one of them: the receiver proves by the secret where an event is from")
	}
	if dry {
		return func() []string { return []string{"not read, and longer than is needed"} }, nil
	}
	now, err := c.SecretSource(at+".secret", o.SecretFile, o.SecretEnv)
	if err != nil {
		return nil, err
	}
	old, err := c.SecretSource(at+".old_secret", o.OldSecretFile, o.OldSecretEnv)
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
func eventFaults(c *config.Config, at string, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		if f, ok := errors.AsType[*stock.FieldError](e); ok {
			e = c.Fault(at+"."+f.Field, "is %s, must be %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
