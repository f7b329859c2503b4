package zklock_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/history"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A correct store could have given the answers that clients of three sessions got from a server,
// while one of the sessions loses its connection again and again.
func TestHistory(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	ds := []*zklock.Driver{newDriver(t, addr, zklock.Options{Session: time.Minute}), newDriver(t, addr, zklock.Options{Session: time.Minute}),
		newDriver(t, p.addr(), zklock.Options{Session: time.Minute})}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for ctx.Err() == nil {
			<-time.After(300 * time.Millisecond)
			p.sever()
		}
	}()
	ops := history.Crowd{Driver: func(client int) driver.Driver { return ds[client%len(ds)] }, Timeout: time.Second}.Run(ctx)
	<-cut
	if err := history.Check(ops, limits(t)); err != nil {
		t.Error(err)
	}
	t.Logf("%d requests", len(ops))
}

func limits(t *testing.T) history.Limits {
	return history.Limits{Late: 2 * time.Second, Over: 500 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
}

// The same checker, with the same limits, finds each planted fault. On a loaded machine, two
// seconds may be too short to show a fault; six times that is enough.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	for _, p := range history.Planted {
		if p.Disturbed {
			continue // this test disturbs nothing
		}
		t.Run(p.Name, func(t *testing.T) {
			planted := p.Into(newDriver(t, addr, zklock.Options{Session: time.Minute}))
			var err error
			for range 6 {
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
				ops := history.Crowd{Driver: func(int) driver.Driver { return planted }, Timeout: time.Second}.Run(ctx)
				stop()
				if err = history.Check(ops, limits(t)); err != nil {
					break
				}
			}
			if !history.Refuted(err) {
				t.Errorf("the fault was not found: %v", err)
			}
		})
	}
}
