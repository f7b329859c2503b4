package opscommands

import (
	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/notify"
)

// alertsOf returns the receivers of the section ops.
func alertsOf(c *config.Config) (o notify.Options, err error) {
	if h := c.Ops.Heartbeat; h != nil {
		o.Heartbeat = &notify.Target{AllowPrivate: h.AllowPrivate}
		if o.Heartbeat.URL, err = c.OpsHeartbeatURL(); err != nil {
			return o, err
		}
	}
	if w := c.Ops.Webhook; w != nil {
		secret, err := c.OpsWebhookSecret()
		if err != nil {
			return o, err
		}
		o.Webhook = &notify.Target{AllowPrivate: w.AllowPrivate, Secret: func() string { return secret().Text() }}
		if o.Webhook.URL, err = c.OpsWebhookURL(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// notifier returns the sender of the alerts of a namespace.
func notifier(s *clients.Store, p *ops.Projection, o plane) *notify.Notifier {
	o.alerts.Projection, o.alerts.Log = p, o.log
	if o.alerts.Webhook != nil {
		o.alerts.Locker = lock.New(s.Driver, "")
	}
	return notify.New(o.alerts)
}
