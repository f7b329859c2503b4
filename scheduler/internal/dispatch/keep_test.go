package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/claims"
)

// A slowKeeper answers after a time, whether or not the context has ended.
type slowKeeper struct {
	series.GroupPeeker
	takes time.Duration
}

func (s slowKeeper) KeepDecided(context.Context, series.Group) error {
	time.Sleep(s.takes)
	return nil
}

// A node is stopped while it keeps a group. It waits for the answer of the store, but for no longer than a request may
// take, and not past the end of the life of requests, even if the driver ignores its context.
func TestKeepEnds(t *testing.T) {
	for name, c := range map[string]struct{ takes, life, want time.Duration }{
		"an answer":                {time.Second, time.Hour, time.Second},
		"no answer":                {time.Minute, time.Hour, 2 * time.Second},
		"no answer before the end": {time.Minute, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := New(Config{Claims: claims.Config{Timeout: 2 * time.Second}, Groups: slowKeeper{takes: c.takes}})
				life, stop := context.WithTimeout(t.Context(), c.life)
				defer stop()
				d.life = life
				began := time.Now()
				d.wg.Add(1)
				go d.keep(series.Group{})
				d.wg.Wait()
				if took := time.Since(began); took != c.want {
					t.Errorf("after %v, want %v", took, c.want)
				}
				time.Sleep(c.takes) // a late answer counts no second time
			})
		})
	}
}
