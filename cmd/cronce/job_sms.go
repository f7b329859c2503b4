package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// smsKind sends what is due in the outbox of the namespace.
func smsKind(c *config, at string, j *jobConfig, p parts) (scheduler.Job, error) {
	var s smsConfig
	if j.SMS != nil {
		s = *j.SMS
	}
	outbox, outboxErr := sms.NewOutbox(p.client, sms.Options{Namespace: c.Namespace, Retention: time.Duration(s.Retention)})
	gateway, gatewayErr := c.gateway(at+".sms", &s, p)
	quiet, quietErr := c.quietHours(at+".sms", &s)
	err := errors.Join(c.under(at+".sms", outboxErr), gatewayErr, c.smsBounds(at+".sms", &s), quietErr)
	if err != nil || outbox == nil { // without an outbox, and no error here: the namespace has a fault, which is told already
		return scheduler.Job{Name: sms.JobName, Spec: sms.JobSpec, Func: idle}, err
	}
	options := []sms.Option{sms.Quiet(quiet)}
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

func (c *config) gateway(at string, s *smsConfig, p parts) (sms.Gateway, error) {
	switch s.Gateway {
	case "console":
		if s.URL != "" || s.TokenEnv != "" || s.TokenFile != "" || s.Timeout != 0 {
			return nil, c.fault(at+".gateway", "console takes no url, token or timeout: write http, or leave them out")
		}
		return sms.NewConsole(p.out), nil
	case "http":
	default: // also without one: messages must not end on a console because a line was forgotten
		return nil, c.fault(at+".gateway", "is %s, allowed is console or http", shorten(s.Gateway))
	}
	h := sms.HTTPConfig{URL: s.URL, Timeout: time.Duration(s.Timeout)}
	if !p.dry {
		token, err := c.readSecret(at+".token", s.TokenFile, s.TokenEnv, "")
		if err != nil {
			return nil, err
		}
		h.Token = sms.Secret(token.text())
		if h.Token != "" && gatewayInPlain(s.URL) {
			if err := c.inPlain(at+".url", "is http, so the token is sent to another machine in plain text: use https"); err != nil {
				return nil, err
			}
		}
		if s.TokenFile != "" {
			now, err := newCurrent(c.stale, func() (secret, error) { return c.secretFile(at+".token_file", s.TokenFile) }, s.TokenFile)
			if err != nil {
				return nil, err
			}
			h.TokenSource = func() sms.Secret { return sms.Secret(now.value().text()) }
		}
	}
	g, err := sms.NewHTTP(h)
	if err != nil {
		return nil, c.under(at, err)
	}
	return g, nil
}

// quietHours reads the part of the day in which only urgent messages leave.
func (c *config) quietHours(at string, s *smsConfig) (sms.QuietHours, error) {
	zone, err := parseZone(s.QuietZone)
	switch {
	case err != nil:
		return sms.QuietHours{}, c.fault(at+".quiet_zone", "%v", err)
	case s.Quiet == "" && s.QuietZone != "":
		return sms.QuietHours{}, c.fault(at+".quiet_zone", "is set, and there are no quiet hours: set quiet")
	case s.Quiet == "":
		return sms.QuietHours{}, nil
	}
	q, err := sms.ParseQuietHours(s.Quiet, zone)
	return q, c.under(at, err)
}

// smsBounds refuses what sms would move to the nearest allowed value.
func (c *config) smsBounds(at string, s *smsConfig) error {
	var errs []error
	for _, n := range []struct {
		key        string
		value, max int
	}{{"batch", s.Batch, 1_000_000}, {"concurrency", s.Concurrency, 100}, {"rate", s.Rate, 10_000}, {"attempts", s.Attempts, 1000}} {
		if n.value < 0 || n.value > n.max {
			errs = append(errs, c.fault(at+"."+n.key, "is %d, allowed is 1 to %d", n.value, n.max))
		}
	}
	return errors.Join(errs...)
}

// under gives faults of package sms their places in the file.
func (c *config) under(at string, err error) error {
	var errs []error
	for _, e := range leaves(err) {
		f, ok := errors.AsType[*sms.FieldError](e)
		if ok && f.Field == "namespace" {
			continue // config.faults has refused it
		}
		if ok {
			e = c.fault(at+"."+f.Field, "is %s, allowed is %s", f.Value, f.Allowed)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// oneOfEach refuses a second job on the outbox, or of a kind of the shop: the
// fences of two jobs do not compare, so each would lock the other out.
func (c *config) oneOfEach() error {
	first := map[string]int{}
	for i := range c.Jobs {
		kind := c.Jobs[i].Kind
		if kind != "sms" && !isShopKind(kind) {
			continue
		}
		if earlier, ok := first[kind]; ok {
			return c.fault(fmt.Sprintf("jobs[%d].kind", i), "is %s like jobs[%d], allowed is one such job", kind, earlier)
		}
		first[kind] = i
	}
	return nil
}
