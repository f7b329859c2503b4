package zookeeper_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/test/history"
)

func TestMain(m *testing.M) { os.Exit(zkserver.Main(m)) }

// newDriver makes a driver in a namespace of the test: the server is shared.
func newDriver(t *testing.T, addrs []string, o zklock.Options) *zklock.Driver {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	o.Namespace = cmp.Or(o.Namespace, test)
	d, err := zklock.New(addrs, o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A correct store could have given the answers that clients of three sessions got from a server,
// while one of the sessions loses its connection again and again.
func TestHistory(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := rig.NewProxy(t, addr)
	ds := []*zklock.Driver{newDriver(t, []string{addr}, lasting), newDriver(t, []string{addr}, lasting), newDriver(t, []string{p.Addr()}, lasting)}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for ctx.Err() == nil {
			<-time.After(300 * time.Millisecond)
			p.Retarget(addr) // resets its connections
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

// The same checker, with the same limits, finds each planted fault.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	for _, p := range history.Planted {
		if p.Disturbed {
			continue // this test disturbs nothing
		}
		t.Run(p.Name, func(t *testing.T) {
			planted := p.Into(newDriver(t, []string{addr}, lasting))
			err := history.Find(6, limits(t), func(pace time.Duration) []history.Op {
				ctx, stop := context.WithTimeout(t.Context(), pace*2*time.Second)
				defer stop()
				return history.Crowd{Driver: func(int) driver.Driver { return planted }, Timeout: time.Second, Pace: pace}.Run(ctx)
			})
			if !history.Refuted(err) {
				t.Errorf("the fault was not found: %v", err)
			}
		})
	}
}
