package renew_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// Two leases that are not renewed end at the same instant, and the contexts of both end then, though
// nothing else makes the keeper set its timer.
func TestLeasesOfOneInstantEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		leases := make([]renew.Lease[string], 2)
		for i := range leases {
			k.Begin(&leases[i], context.Background(), "k", renew.Grant{TTL: 30 * time.Second, Left: 30 * time.Second, Sent: time.Now(), Fixed: true})
			k.Add(k.Now(), &leases[i])
		}
		time.Sleep(27 * time.Second)
		synctest.Wait()
		for i := range leases {
			wantErr(t, fmt.Sprint("the cause of lease ", i), context.Cause(leases[i].Context()), driver.ErrLost)
		}
	})
}

// A store that renews one lease at a time has 64 requests in flight and answers none of them. The first
// lease, whose request is presumed lost, waits for a repeat when the answer to that request comes: the
// room goes to another lease, and the renewed one gets no second request before it is due.
func TestLateAnswerTakesALeaseOffTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const inFlight = 64
		var mu sync.Mutex
		sent := make(map[string]int)
		answer := make(chan struct{})
		k := renew.New(renew.Config[string]{
			Share:  func(string) renew.Sharing { return renew.Sharing{} },
			Singly: true,
			Renew: func(ctx context.Context, refs []string) []renew.Renewal {
				mu.Lock()
				sent[refs[0]]++
				mu.Unlock()
				if refs[0] == "first" {
					select {
					case <-answer:
						return []renew.Renewal{{Alive: true, Left: 30 * time.Second}}
					case <-ctx.Done():
					}
				}
				<-ctx.Done()
				return []renew.Renewal{{Err: ctx.Err()}}
			},
		})
		requests := func() (all int) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range sent {
				all += n
			}
			return all
		}
		leases := make([]renew.Lease[string], inFlight)
		for i := range leases {
			name := "first"
			if i > 0 {
				name = fmt.Sprint("lease ", i)
			}
			k.Begin(&leases[i], context.Background(), name, renew.Grant{TTL: 30 * time.Second, Left: 30 * time.Second, Sent: time.Now()})
			k.Add(k.Now(), &leases[i])
			if i == 0 {
				time.Sleep(time.Second) // its trust ends first
			}
		}
		time.Sleep(18600 * time.Millisecond) // the first lease was due after 10 s, and again after half of the 17 s that were left
		synctest.Wait()
		if n := requests(); n != inFlight {
			t.Fatalf("%d requests were sent, want %d", n, inFlight)
		}
		answer <- struct{}{}
		synctest.Wait()
		mu.Lock()
		first := sent["first"]
		mu.Unlock()
		if n := requests(); n != inFlight+1 || first != 1 {
			t.Errorf("%d requests were sent after the answer, %d of them for the first lease, want %d and 1", n, first, inFlight+1)
		}
		for i := range leases {
			leases[i].End()
		}
		time.Sleep(time.Minute) // requests end
	})
}
