package main

import (
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/sms"
)

// serveReceipts serves receipts from the beginning: while the Redis does not answer each is
// doubt, and the gateway asks again. The result is not nil, even if nothing is served.
func serveReceipts(c *config.Config, client redis.Scripter, log *zap.Logger) (*besideServer, error) {
	at, r := c.Receipts()
	if r == nil || (config.HTTP{Address: r.Address}).Off() {
		return &besideServer{}, nil
	}
	token, err := c.SecretSource(at+".token", r.TokenFile, r.TokenEnv)
	if err == nil && token().Text() == "" {
		err = c.Fault(at+".token_env", "names a variable that is empty")
	}
	if err != nil {
		return nil, usage(err)
	}
	now := func() sms.Secret { return sms.Secret(token().Text()) }
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return nil, err
	}
	return serveBeside(at, config.HTTP{Address: r.Address}, sms.NewReceipts(outbox, now, log), "receipts served", log)
}
