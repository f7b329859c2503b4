package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/jobs/sms"
)

// A store is the Redis of a demo, with a namespace of its own.
type store struct {
	*Cluster
	server *miniredis.Miniredis // nil if the Redis is outside this process
}

// openStore starts a Redis in this process, unless a URL names another.
func openStore(url string, open func(url string, embedded bool) (*Cluster, error)) (*store, error) {
	s := &store{}
	embedded := url == ""
	if embedded {
		s.server = miniredis.NewMiniRedis()
		s.server.ClockTTL(true) // its leases expire as time passes
		if err := s.server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("demo: start a Redis: %w", err)
		}
		url = "redis://" + s.server.Addr()
	}
	var err error
	if s.Cluster, err = open(url, embedded); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close removes the demo's keys from a Redis outside this process.
func (s *store) close() {
	if s.server != nil {
		s.server.Close()
	} else if s.Cluster != nil {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		_ = s.clean(ctx) // keys that cannot be removed expire
	}
	if s.Cluster != nil {
		s.Close()
	}
}

// clean removes the keys of the demo's namespace, whose name is random.
func (s *store) clean(ctx context.Context) error {
	iter := s.Client.Scan(ctx, 0, s.Namespace+":v1:*", 1000).Iterator()
	for iter.Next(ctx) {
		if err := s.Client.Unlink(ctx, iter.Val()).Err(); err != nil {
			return err
		}
	}
	return iter.Err()
}

// messages is the number of messages that wait in the outbox of a demo.
const messages = 300

// fill puts messages into the outbox.
func (s *store) fill(ctx context.Context) error {
	for i := range messages {
		m := sms.Message{ID: fmt.Sprintf("parcel-%03d", i), To: fmt.Sprintf("+447700900%03d", i), Text: fmt.Sprintf("Your parcel %d arrives today.", i)}
		if _, err := s.Outbox.Accept(ctx, m); err != nil {
			return s.Failed(err)
		}
	}
	return nil
}
