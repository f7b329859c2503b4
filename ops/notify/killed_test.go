package notify

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

// A killer passes the requests of a replica to a receiver. It kills the replica inside the first
// request of each key: after the receiver has recorded it, and before its reply arrives.
type killer struct {
	*receiver
	kill func()
}

func (k *killer) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := k.receiver.RoundTrip(request)
	k.mu.Lock()
	last := len(k.keys) - 1
	first := slices.Index(k.keys, k.keys[last]) == last
	k.mu.Unlock()
	if first {
		k.kill()
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return reply, err
}

// mortal starts a replica that sends to a receiver. The channel is closed once it was killed. Its lock
// then lasts until the TTL ends it, because a dead process releases none.
func (s *cluster) mortal(ctx context.Context, t *testing.T, name string, hook *receiver) <-chan struct{} {
	dead, kill := context.WithCancel(ctx)
	var silent atomic.Bool
	r := s.replica(t, lock.New(&silentLocks{Driver: s.Store, silent: &silent}, name), &killer{hook, kill}, nil)
	gone := make(chan struct{})
	context.AfterFunc(dead, func() {
		defer close(gone)
		silent.Store(true)
		r.stop()
	})
	return gone
}

// Each sender is killed between the record of the receiver and its reply, and started again within a
// second. The other replica sends the request again with the same key. So a receiver that drops repeated keys has one begin and one end of
// each episode, in this order.
func TestKilledInsideTheRequest(t *testing.T) {
	const episodes = 25
	bubble(t, func(t *testing.T, s *cluster) {
		ctx, stop := context.WithCancel(t.Context())
		hook := &receiver{}
		replicas := make([]<-chan struct{}, 2)
		defer func() {
			stop()
			for _, gone := range replicas {
				<-gone
			}
		}()
		kills := 0
		during := func(idle bool) { // starts a replica in place of each dead one, as a supervisor does
			s.idle.Store(idle)
			for range 2 * 60 {
				for i, gone := range replicas {
					select {
					case <-gone:
						kills++
						replicas[i] = s.mortal(ctx, t, fmt.Sprintf("plane-%d-%d", i, kills), hook)
					default:
					}
				}
				time.Sleep(time.Second)
			}
		}
		for i := range replicas {
			replicas[i] = s.mortal(ctx, t, fmt.Sprintf("plane-%d", i), hook)
		}
		time.Sleep(time.Minute)
		for range episodes {
			during(true)
			during(false)
		}
		var want, once []string
		for range episodes {
			want = append(want, "trigger shop/overdue/report", "resolve shop/overdue/report")
		}
		times := map[string]int{}
		hook.mu.Lock()
		defer hook.mu.Unlock()
		for i, key := range hook.keys {
			if times[key]++; times[key] == 1 {
				once = append(once, hook.taken[i])
			}
		}
		for key, n := range times {
			if n < 2 {
				t.Errorf("nobody has sent %s again after its sender was killed", key)
			}
		}
		if !slices.Equal(once, want) {
			t.Errorf("a receiver that drops repeated keys has %d requests, want %d: %.300q", len(once), len(want), once)
		}
		if s.lines("alert not accepted") > 0 {
			t.Error("a request that ends with its replica is logged as refused")
		}
		if kills != len(want) {
			t.Errorf("%d kills inside %d requests", kills, len(want))
		}
	})
}

// Jobs that fail at once are one request, with a digest of them, and so is their recovery: they change between two readings
// of the plane, which are at whole seconds.
func TestManyFailAtOnce(t *testing.T) {
	const jobs = 500
	bubble(t, func(t *testing.T, s *cluster) {
		all := func(do func(job string)) {
			time.Sleep(time.Second / 3)
			for i := range jobs {
				do(fmt.Sprintf("job-%03d", i))
			}
		}
		all(func(job string) { s.open(t, job, "@daily") })
		hook := &receiver{}
		a := s.replica(t, nil, hook, nil)
		defer a.stop()
		time.Sleep(time.Minute)
		all(func(job string) { s.end(t.Context(), t, job, series.OutcomeFailed) })
		time.Sleep(10 * time.Minute)
		hook.want(t, "trigger shop/failed")
		if got := strings.Join(hook.texts, "; "); !strings.HasPrefix(got, "500 jobs are failed: job-000, job-001, ") || !strings.HasSuffix(got, ", job-018 and 481 more") {
			t.Errorf("the digest is %q", got)
		}
		all(func(job string) { s.end(t.Context(), t, job, series.OutcomeOK) })
		time.Sleep(10 * time.Minute)
		hook.want(t, "trigger shop/failed", "resolve shop/failed")
	})
}
