package locktest

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// longNote contains characters that have a special meaning in some store.
const longNote = "why: 50% of \"a\\b\" 'c' {d}, e/f.1 é #1# (g) *h? [i] \u200d-$&^ + x+"

func sharingNote(s *fixture) {
	l := lock.New(s.driver, "node 1/a")
	for _, limit := range []int{1, 2, lock.NoLimit} {
		lease, err := l.TryAcquire(patient(s.ctx), "key", lock.Options{Limit: limit, Note: longNote})
		if err != nil {
			s.Fatalf("acquire: %v", err)
		}
		s.noted(l, lease.Fence())
		s.env.Wait(5 * time.Millisecond)
		if err := lease.Release(s.ctx); err != nil {
			s.Fatalf("release: %v", err)
		}
		equal(s, "holders", len(s.holders()), 0)
	}
}

// patient returns a context that cannot end. A Locker repeats a request whose context can end after some ms, and a server that
// is slow may grant the first request after the lease of the second was released.
func patient(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// noted fails the test unless the lease with the fence is the only one, with its note.
func (s *fixture) noted(l *lock.Locker, fence int64) {
	s.Helper()
	all, err := l.Holders(s.ctx, "key")
	if err != nil || len(all) != 1 {
		s.Fatalf("the holders are %+v, %v", all, err)
	}
	equal(s, "the fence", all[0].Fence, fence)
	equal(s, "the note", all[0].Note, longNote)
	equal(s, "the node", driver.NodeOf(all[0].Owner), "node 1/a")
}

func waitNote(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	l := lock.New(s.driver, "node 1/a")
	got := make(chan *lock.Lease, 1)
	go func() {
		ctx, stop := context.WithTimeout(s.ctx, patience)
		defer stop()
		lease, _ := l.Acquire(ctx, "key", lock.Options{Note: longNote})
		got <- lease
	}()
	for give := time.Now().Add(patience); s.inspect("key").Waiting == 0; {
		if time.Now().After(give) {
			s.Fatalf("it took no place")
		}
		<-time.After(time.Millisecond)
	}
	s.release(h)
	lease := <-got
	if lease == nil {
		s.Fatalf("a waiter with a note was not granted the key")
	}
	if _, can := s.driver.(driver.Sharer); can {
		s.noted(l, lease.Fence())
	}
	if err := lease.Release(s.ctx); err != nil {
		s.Fatalf("release: %v", err)
	}
}
