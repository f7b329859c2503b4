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
