package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// deliverKinds makes the targets by kind.
var deliverKinds = map[string]func(c *config.Config, p resources) (stock.Target, error){
	config.KindStream: streamTarget, config.KindWebhook: webhookTarget, config.KindTexts: textsTarget,
}

// deliverKind makes the job that delivers the events of the shop to a target.
func deliverKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: stock.DeliverEventsSpec, Func: idle}
	switch {
	case !slices.Contains(c.EventKinds(), j.Kind):
		return idle, c.Fault(at+".kind", "is %s, but there is no such target: set it in the section shop.events", j.Kind)
	case p.shop.Sale == nil: // the shop has a fault
		return idle, nil
	}
	target, err := deliverKinds[j.Kind](c, p)
	if err != nil {
		return idle, err
	}
	return stock.DeliverEvents(p.shop.Sale, target)
}

// streamTarget makes the target that adds events to a stream of Redis.
func streamTarget(c *config.Config, p resources) (stock.Target, error) {
	o := c.Shop.Events.Stream
	s, err := stock.NewStream(p.shop.Sale, p.client, stock.StreamOptions{Key: o.Key, Length: o.Length})
	return s, eventFaults(c, "shop.events.stream", err)
}

// webhookTarget makes the target that posts events.
func webhookTarget(c *config.Config, p resources) (stock.Target, error) {
	const at = "shop.events.webhook"
	o := c.Shop.Events.Webhook
	secrets, err := webhookSecrets(c, at, o, p.dry)
	if err != nil {
		return nil, err
	}
	w, err := stock.NewWebhook(p.shop.Sale, stock.WebhookOptions{URL: o.URL, Plain: o.AllowPlain, Secrets: secrets, Timeout: time.Duration(o.Timeout),
		Concurrency: o.Concurrency, Receiver: o.Receiver})
	return w, eventFaults(c, at, err)
}

// webhookSecrets returns a function that returns the keys that sign events: a key, and an old one
// until the receiver has the new one. It reads files again when they change.
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

// textsTarget makes the target that sends texts to buyers.
func textsTarget(c *config.Config, p resources) (stock.Target, error) {
	const at = "shop.events.sms"
	outbox, err := sms.NewOutbox(p.client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return nil, smsFaults(c, at, err)
	}
	o := c.Shop.Events.SMS
	templates := map[stock.State]string{}
	for kind, text := range map[stock.State]string{stock.Reserved: o.Reserved, stock.Paid: o.Paid, stock.Cancelled: o.Cancelled, stock.Expired: o.Expired,
		stock.Returned: o.Returned, stock.Refunded: o.Refunded} {
		if text != "" {
			templates[kind] = text
		}
	}
	t, err := stock.NewTexts(p.shop.Sale, textOutbox{outbox}, stock.TextOptions{Templates: templates})
	return t, eventFaults(c, at, err)
}

// A textOutbox puts the texts of a shop into an outbox of messages.
type textOutbox struct{ outbox *sms.Outbox }

// Accept puts one text into the outbox. A text with the same id and another wording, because its
// template has changed since, counts as accepted.
func (o textOutbox) Accept(ctx context.Context, id, phone, text string) error {
	_, err := o.outbox.Accept(ctx, sms.Message{ID: id, To: phone, Text: text})
	if _, refused := errors.AsType[*sms.FieldError](err); refused {
		return fmt.Errorf("%w: %w", stock.ErrRefused, err)
	}
	if errors.Is(err, sms.ErrConflict) {
		return nil
	}
	return err
}

// ReadStates returns the states of texts, and the place of a shop's texts.
func (o textOutbox) ReadStates(ctx context.Context, list string, ids []string) (place string, states []stock.TextState, err error) {
	place, found, err := o.outbox.ReadStates(ctx, list, ids...)
	for _, state := range found {
		states = append(states, textState(state))
	}
	return place, states, err
}

func textState(state sms.State) stock.TextState {
	switch state {
	case "":
		return stock.TextUnknown
	case sms.Sent, sms.Failed, sms.Expired:
		return stock.TextEnded
	}
	return stock.TextWaits
}

// SetPlace stores the place of a shop's texts.
func (o textOutbox) SetPlace(ctx context.Context, list, from, to string) (bool, error) {
	return o.outbox.SetPlace(ctx, list, from, to)
}

// eventFaults adds the place in the file to the faults of a target.
func eventFaults(c *config.Config, at string, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		if f, ok := errors.AsType[*stock.FieldError](e); ok {
			e = c.Fault(at+"."+strings.TrimPrefix(f.Field, "texts."), "is %s, must be %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
