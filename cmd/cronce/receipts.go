package main

import (
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/cronce/cronce/jobs/sms"
)

// receipts finds where the job sendSms has its receipts served; nil: nowhere.
func (c *config) receipts() (at string, r *receiptsConfig) {
	for i := range c.Jobs {
		if s := c.Jobs[i].SMS; s != nil && s.Receipts != nil {
			return fmt.Sprintf("jobs[%d].sms.receipts", i), s.Receipts
		}
	}
	return "", nil
}

// receiptsFaults checks the section: without a token nothing is served to anyone.
func (c *config) receiptsFaults(bad func(path, format string, args ...any)) {
	at, r := c.receipts()
	if r == nil {
		return
	}
	if r.Address == "" {
		bad(at+".address", "is missing, allowed is host:port, such as 127.0.0.1:8082, or off")
	}
	c.listenFaults(bad, at, httpConfig{Address: r.Address, AllowRemote: r.AllowRemote})
	if (r.TokenEnv == "") == (r.TokenFile == "") {
		bad(at+".token_env", "and token_file are both missing or both set, needed is one of them: the gateway proves by the token who it is")
	}
}

// serveReceipts serves receipts from the beginning: while the Redis does not answer each is
// doubt, and the gateway asks again. The result is not nil, even if nothing is served.
func serveReceipts(c *config, client redis.Scripter, log *zap.Logger) (*besideServer, error) {
	at, r := c.receipts()
	if r == nil || (httpConfig{Address: r.Address}).off() {
		return &besideServer{}, nil
	}
	token, err := c.readSecret(at+".token", r.TokenFile, r.TokenEnv, "")
	if err == nil && token.text() == "" {
		err = c.fault(at+".token_env", "names a variable that is empty")
	}
	if err != nil {
		return nil, usage(err)
	}
	now := func() sms.Secret { return sms.Secret(token.text()) }
	if r.TokenFile != "" {
		current, err := newCurrent(c.stale, func() (secret, error) { return c.secretFile(at+".token_file", r.TokenFile) }, r.TokenFile)
		if err != nil {
			return nil, usage(err)
		}
		now = func() sms.Secret { return sms.Secret(current.value().text()) }
	}
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return nil, err
	}
	return serveBeside(at, httpConfig{Address: r.Address}, sms.NewReceipts(outbox, now, log), "receipts served", log)
}
