package sms_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Three nodes have the job for a minute, while messages come in: each message is
// requested once, and no more than a batch in five seconds.
func TestThreeNodesSendOnce(t *testing.T) {
	inBubble(t, 30, func(t *testing.T, b *bubble) {
		store := memlock.New(memlock.Options{})
		ctx, stop := context.WithCancel(t.Context())
		var nodes sync.WaitGroup
		for i := range 3 {
			job := sms.Job(b.outbox, b, sms.Batch(10), sms.Concurrency(2))
			n, err := scheduler.New(scheduler.Config{Name: fmt.Sprintf("node-%d", i), Store: store, Jobs: []scheduler.Job{job}})
			if err != nil {
				t.Fatal(err)
			}
			nodes.Go(func() {
				if err := n.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 12 {
			time.Sleep(5 * time.Second)
			accept(t, b.outbox, sms.Message{ID: fmt.Sprintf("new-%02d", i), To: "+12025550101", Text: "x"}, true)
			if done := len(b.requests()); done > 10*(i+2) {
				t.Errorf("%d requests after %d ticks, want no more than a batch for each", done, i+1)
			}
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		stop()
		nodes.Wait()
		seen := b.requests()
		if once := slices.Compact(slices.Sorted(slices.Values(seen))); len(seen) != 42 || len(once) != 42 {
			t.Errorf("%d requests for %d messages, want 42 for 42", len(seen), len(once))
		}
		wantCounts(t, b.outbox, sms.Counts{Sent: 42, Once: 42})
	})
}

// requests are the ids of all requests so far.
func (b *bubble) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}
