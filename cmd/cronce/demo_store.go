package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/jobs/sms"
)

// A demoStore is a Redis with a namespace for one demo.
type demoStore struct {
	*store
	server *miniredis.Miniredis // nil if the Redis is somebody else's
	outbox *sms.Outbox
}

// openDemoStore starts a Redis in this process, unless a URL names another.
func openDemoStore(url string) (*demoStore, error) {
	d := &demoStore{}
	embedded := url == ""
	if embedded {
		d.server = miniredis.NewMiniRedis()
		d.server.ClockTTL(true) // its leases expire as time passes
		if err := d.server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("demo: start a Redis: %w", err)
		}
		url = "redis://" + d.server.Addr()
	}
	c, err := demoConfig(url, embedded)
	if err != nil {
		d.close()
		return nil, err
	}
	if d.store, err = newStore(c); err == nil {
		d.outbox, err = sms.NewOutbox(d.client, sms.Options{Namespace: c.Namespace})
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// close removes what the demo has put into a Redis that is not its own.
func (d *demoStore) close() {
	if d.server != nil {
		d.server.Close()
	} else if d.store != nil {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		_ = d.clean(ctx) // what it cannot remove expires
	}
	if d.store != nil {
		_ = d.client.Close()
	}
}

// clean removes the keys of the demo's namespace, whose name is random.
func (d *demoStore) clean(ctx context.Context) error {
	iter := d.client.Scan(ctx, 0, d.config.Namespace+":v1:*", 1000).Iterator()
	for iter.Next(ctx) {
		if err := d.client.Unlink(ctx, iter.Val()).Err(); err != nil {
			return err
		}
	}
	return iter.Err()
}

// fill puts the sample messages into the outbox.
func (d *demoStore) fill(ctx context.Context) (int, error) {
	r, err := sms.Import(ctx, d.outbox, sms.Sample(), nil)
	if err == nil && r.Refused > 0 {
		err = errors.New(r.Bad[0].String())
	}
	if err != nil {
		return 0, d.failed(err)
	}
	return r.Accepted, nil
}
