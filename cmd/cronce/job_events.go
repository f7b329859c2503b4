package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// The kinds of jobs that deliver the events of the shop, each to one target.
const (
	streamKind  = stock.DeliverEventsName + ".stream"
	webhookKind = stock.DeliverEventsName + ".webhook"
	textsKind   = stock.DeliverEventsName + ".sms"
)

// deliverKinds make the targets.
var deliverKinds = map[string]func(c *config, p parts) (stock.Target, error){
	streamKind: (*config).stream, webhookKind: (*config).webhook, textsKind: (*config).texts,
}

// eventKinds are the kinds of jobs that deliver to the targets of the configuration.
func (c *config) eventKinds() (names []string) {
	if c.Shop == nil || c.Shop.Events == nil {
		return nil
	}
	e := c.Shop.Events
	for name, set := range map[string]bool{streamKind: e.Stream != nil, webhookKind: e.Webhook != nil, textsKind: e.SMS != nil} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// eventTargets are the names of the targets of the configuration.
func (c *config) eventTargets() (names []string) {
	for _, kind := range c.eventKinds() {
		names = append(names, strings.TrimPrefix(kind, stock.DeliverEventsName+"."))
	}
	return names
}

// isShopKind reports whether jobs of a kind belong to a shop.
func isShopKind(kind string) bool {
	return slices.Contains(shopKinds, kind) || deliverKinds[kind] != nil
}

// deliverKind delivers the events of the shop to a target.
func deliverKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	idle := scheduler.Job{Name: j.Kind, Spec: stock.DeliverEventsSpec, Func: idle}
	switch {
	case !slices.Contains(c.eventKinds(), j.Kind):
		return idle, c.fault(at+".kind", "is %s, but there is no such target: set it in the section shop.events", j.Kind)
	case p.shop.sale == nil: // the shop has a fault
		return idle, nil
	}
	target, err := deliverKinds[j.Kind](c, p)
	if err != nil {
		return idle, err
	}
	return stock.DeliverEvents(p.shop.sale, target)
}

// stream is the stream of Redis that events are added to.
func (c *config) stream(p parts) (stock.Target, error) {
	o := c.Shop.Events.Stream
	s, err := stock.NewStream(p.shop.sale, p.client, stock.StreamOptions{Key: o.Key, Length: o.Length})
	return s, c.eventFaults("shop.events.stream", err)
}

// webhook is where events are posted.
func (c *config) webhook(p parts) (stock.Target, error) {
	const at = "shop.events.webhook"
	o := c.Shop.Events.Webhook
	secrets, err := c.webhookSecrets(at, o, p.dry)
	if err != nil {
		return nil, err
	}
	w, err := stock.NewWebhook(p.shop.sale, stock.WebhookOptions{URL: o.URL, Plain: o.AllowPlain, Secrets: secrets, Timeout: time.Duration(o.Timeout),
		Concurrency: o.Concurrency, Receiver: o.Receiver})
	return w, c.eventFaults(at, err)
}

// webhookSecrets are the keys that events are signed with: one, and an old one until the receiver
// has the new one. Those in files are read again when they change.
func (c *config) webhookSecrets(at string, o *webhookConfig, dry bool) (func() []string, error) {
	if o.SecretEnv == "" && o.SecretFile == "" {
		return nil, c.fault(at+".secret_env", "and secret_file are both missing, needed is one of them: the receiver proves by the secret where an event is from")
	}
	if dry {
		return func() []string { return []string{"not read, and longer than is needed"} }, nil
	}
	now, err := c.secretSource(at+".secret", o.SecretFile, o.SecretEnv)
	if err != nil {
		return nil, err
	}
	old, err := c.secretSource(at+".old_secret", o.OldSecretFile, o.OldSecretEnv)
	if err != nil {
		return nil, err
	}
	return func() []string {
		secrets := []string{now().text()}
		if text := old().text(); text != "" {
			secrets = append(secrets, text)
		}
		return secrets
	}, nil
}

// secretSource reads a secret, and a file with one again when it changes.
func (c *config) secretSource(path, file, env string) (func() secret, error) {
	s, err := c.readSecret(path, file, env, "")
	if err != nil || file == "" {
		return func() secret { return s }, err
	}
	now, err := newCurrent(c.stale, func() (secret, error) { return c.secretFile(path+"_file", file) }, file)
	return now.value, err
}

// texts are the texts that buyers get.
func (c *config) texts(p parts) (stock.Target, error) {
	const at = "shop.events.sms"
	outbox, err := sms.NewOutbox(p.client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return nil, c.under(at, err)
	}
	o := c.Shop.Events.SMS
	templates := map[stock.State]string{}
	for kind, text := range map[stock.State]string{stock.Reserved: o.Reserved, stock.Paid: o.Paid, stock.Cancelled: o.Cancelled, stock.Expired: o.Expired,
		stock.Returned: o.Returned, stock.Refunded: o.Refunded} {
		if text != "" {
			templates[kind] = text
		}
	}
	t, err := stock.NewTexts(p.shop.sale, textOutbox{outbox}, stock.TextOptions{Templates: templates})
	return t, c.eventFaults(at, err)
}

// A textOutbox puts the texts of a shop into an outbox of messages.
type textOutbox struct{ outbox *sms.Outbox }

// Accept puts one text into the outbox. One that is there with other words, since its template
// has changed since, is there.
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

// eventFaults gives what a target refuses its place in the file.
func (c *config) eventFaults(at string, err error) error {
	var errs []error
	for _, e := range leaves(err) {
		if f, ok := errors.AsType[*stock.FieldError](e); ok {
			e = c.fault(at+"."+strings.TrimPrefix(f.Field, "texts."), "is %s, allowed is %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
