package notify

import (
	"testing"
	"time"
)

// An overdue tick stays an episode over an outage of the store: until the tick has been probed again it
// is only suspected, which is no end.
func TestOverdueOverAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		hook := &receiver{}
		a := s.replica(t, nil, hook, nil)
		defer a.stop()
		s.idle.Store(true)
		time.Sleep(3 * time.Minute)
		hook.want(t, "trigger shop/overdue/report")
		s.silent.Store(true)
		time.Sleep(10 * time.Second) // shorter than an episode of the store
		s.silent.Store(false)
		time.Sleep(2 * time.Minute)
		hook.want(t, "trigger shop/overdue/report")
		s.idle.Store(false)
		time.Sleep(time.Minute)
		hook.want(t, "trigger shop/overdue/report", "resolve shop/overdue/report")
	})
}

// No heartbeat is sent while a tick is only suspected of being overdue, as it is each time that the store is back from an outage.
func TestHeartbeatBetweenOutages(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		beats := &receiver{}
		a := s.replica(t, nil, nil, beats)
		defer a.stop()
		s.idle.Store(true)
		time.Sleep(3 * time.Minute)
		before, _ := beats.requests()
		for range 100 {
			s.silent.Store(true)
			time.Sleep(4 * time.Second)
			s.silent.Store(false)
			time.Sleep(3 * time.Second)
		}
		if after, _ := beats.requests(); len(after) > len(before) {
			t.Errorf("%d heartbeats of a store with an overdue tick", len(after)-len(before))
		}
	})
}
