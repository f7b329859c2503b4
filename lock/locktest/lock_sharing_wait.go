package locktest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var sharingWaitTests = []test{
	{"readers that wait next to each other go in together", sharingTogether},
	{"a writer that waits makes later readers wait", sharingWriterFirst},
	{"waiters of all kinds are served in the order in which they came", sharingOrder},
	{"a writer gets in under a stream of readers", sharingStream},
	{"a place that is freed goes to the first that waits, and to no other", sharingOneIn},
	{"the expiry of one holder lets the first that waits in", sharingExpiredIn},
	{"a writer that gives up lets those behind it in", sharingGivesUp},
	{"who shares a key already and waits for it gets the same fence", sharingWaitAgain},
	{"a shared key that is handed on is trusted from when its new owner confirmed", sharingTrust},
}

func (s *fixture) queuedFor(limit int) *waiter {
	s.Helper()
	return s.queued(s.sharing(limit))
}

// servedAll waits for the grants of several waiters, whose fences must differ.
func (s *fixture) servedAll(ws ...*waiter) []driver.LeaseRef {
	s.Helper()
	var hs []driver.LeaseRef
	fences := make(map[int64]bool)
	for _, w := range ws {
		h := s.served(w)
		h.Limit = w.Limit
		hs = append(hs, h)
		fences[h.Fence] = true
	}
	equal(s, "fences of those that were served", len(fences), len(ws))
	return hs
}

func sharingTogether(s *fixture) {
	writer := s.taken(1)
	var ws []*waiter
	for range 5 {
		ws = append(ws, s.queuedFor(driver.NoLimit))
	}
	s.release(writer)
	for _, h := range s.servedAll(ws...) {
		if h.Fence <= writer.Fence {
			s.Fatalf("the fence %d follows %d", h.Fence, writer.Fence)
		}
		s.renewed(h)
	}
	equal(s, "holders", len(s.holders()), 5)
}

func sharingWriterFirst(s *fixture) {
	reader := s.taken(driver.NoLimit)
	writer := s.queuedFor(1)
	_ = s.held(s.sharing(driver.NoLimit))
	later := s.queuedFor(driver.NoLimit)
	s.waiting(writer)
	s.release(reader)
	h := s.served(writer)
	s.waiting(later)
	s.release(h)
	s.release(s.served(later))
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
}

func sharingOrder(s *fixture) {
	h := s.taken(1)
	groups := [][]int{{driver.NoLimit, driver.NoLimit}, {1}, {2, 2}, {2, 5}, {driver.NoLimit, 3, 3}, {1}}
	var line [][]*waiter
	for _, limits := range groups {
		var ws []*waiter
		for _, limit := range limits {
			ws = append(ws, s.queuedFor(limit))
		}
		line = append(line, ws)
	}
	hs := []driver.LeaseRef{h}
	for i, ws := range line {
		for _, h := range hs {
			s.release(h)
		}
		hs = s.servedAll(ws...)
		for _, later := range line[i+1:] {
			s.waiting(later[0])
		}
	}
}

// Readers come and go so that one nearly always holds the key; a writer that waits then is not
// blocked forever.
func sharingStream(s *fixture) {
	ctx, stop := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	read := make(chan struct{}, 1000)
	for i := range 3 {
		wg.Go(func() {
			for n := 0; s.read(ctx, fmt.Sprintf("reader-%d/%d", i, n), time.Duration(3+i)*time.Millisecond); n++ {
				select {
				case read <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 10 {
		<-read
	}
	for range 3 {
		s.release(s.served(s.await(s.sharing(1))))
	}
}

// read holds the key as a reader for a while, and reports whether it did.
func (s *fixture) read(ctx context.Context, owner string, d time.Duration) bool {
	a := driver.Acquisition{Key: "key", Owner: owner, TTL: long, Limit: driver.NoLimit}
	g, err := s.driver.(driver.Waiter).Wait(ctx, a)
	if err != nil {
		return false
	}
	<-time.After(d)
	return s.driver.Release(s.ctx, driver.LeaseRef{Key: a.Key, Owner: owner, Fence: g.Fence, Limit: a.Limit}) == nil
}

func sharingOneIn(s *fixture) {
	first, second := s.taken(2), s.taken(2)
	ws := []*waiter{s.queuedFor(2), s.queuedFor(2), s.queuedFor(2)}
	s.release(first)
	third := s.servedAll(ws[0])[0]
	s.waiting(ws[1])
	equal(s, "places", s.inspect("key").Waiting, 2)
	s.release(third)
	s.release(second)
	s.servedAll(ws[1:]...)
}

func sharingExpiredIn(s *fixture) {
	s.taken(2, brief)
	s.taken(2)
	first, second := s.queuedFor(2), s.queuedFor(2)
	s.env.Wait(brief + slack)
	s.served(first)
	s.waiting(second)
}

func sharingGivesUp(s *fixture) {
	s.taken(driver.NoLimit)
	writer, reader := s.queuedFor(1), s.queuedFor(driver.NoLimit)
	s.waiting(reader)
	writer.stop()
	s.finished(writer)
	s.served(reader)
	equal(s, "places", s.inspect("key").Waiting, 0)
}

func sharingWaitAgain(s *fixture) {
	a := s.sharing(2)
	g, _ := s.acquire(a)
	s.taken(2)
	equal(s, "the fence", s.served(s.await(a)).Fence, g.Fence)
}

func sharingTrust(s *fixture) {
	h := s.taken(1)
	w := s.queuedFor(driver.NoLimit)
	inLine := time.Now()
	<-time.After(200 * time.Millisecond) // a poll that runs during the release may take the key
	s.release(h)
	h = s.servedAll(w)[0]
	if w.got.Asked.Before(inLine) {
		s.Fatalf("trust is counted from %v before the owner stood in line", inLine.Sub(w.got.Asked))
	}
	s.within("left", w.got.Left, long)
	s.renewed(h)
}
