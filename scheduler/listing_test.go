package scheduler_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// refuses makes the store refuse one kind of request from now on.
func (n *node) refuses(op string) {
	n.wire.spoil(func(of string) fault { return fault{refused: of == op} })
}

// The list of nodes cannot be read from the start. The node reads the store's clock without it, and
// runs its jobs on time. It is not ready, and reports why.
func TestWithoutTheListOfNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(10 * time.Millisecond)})
		n := c.create(c.jobs...)
		n.refuses("beat")
		n.run()
		c.pass(time.Minute + 500*time.Millisecond)
		if ran := len(c.ran("a")); ran < 58 {
			t.Errorf("ran %d times in a minute", ran)
		}
		if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "the list of nodes: the user may not do what is asked for") {
			t.Errorf("ready: %v", err)
		}
	})
}

// The store accepts no writes for a while. The first claim that it answers shows that it does
// again, and the list of nodes is requested at once, not at the next heartbeat. It is requested
// once while it still fails.
func TestListIsAskedForWhenClaimsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(10 * time.Millisecond)})
		n := c.start()
		c.pass(20 * time.Second)
		n.wire.spoil(func(op string) fault { return fault{refused: op == "beat" || op == "claim"} })
		c.pass(21 * time.Second)
		if n.Ready() == nil {
			t.Fatal("ready while nothing is answered")
		}
		var beats atomic.Int64
		n.wire.spoil(func(op string) fault {
			if op == "beat" {
				beats.Add(1)
			}
			return fault{refused: op == "beat"}
		})
		c.pass(8 * time.Second)
		if n := beats.Load(); n == 0 || n > 4 { // at most one in three seconds, plus the one that is due
			t.Errorf("%d beats in 8 seconds", n)
		}
		n.wire.spoil(nil)
		c.pass(8 * time.Second)
		if err := n.Ready(); err != nil {
			t.Errorf("8 seconds after all is well: %v", err)
		}
	})
}

// A curious store calls the node while it explains an error.
type curious struct {
	scheduler.Store
	node **scheduler.Node
}

func (c curious) Explain(error) string { return strings.Join((*c.node).Remarks(), "") + "words" }

func (c curious) Beat(context.Context, series.Beat) (series.BeatAnswer, error) {
	return series.BeatAnswer{}, errReset
}

// Explain is not called under the node's mutex, because the store may call the node.
func TestExplainIsNotCalledUnderTheMutex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		var n *scheduler.Node
		n, err := scheduler.New(scheduler.Config{Store: curious{c.store, &n}, Jobs: []scheduler.Job{{Name: "a", Spec: "@hourly", Func: takes(0)}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		c.pass(time.Second)
		if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "the list of nodes: words") {
			t.Errorf("ready: %v", err)
		}
		stop()
		<-ended
	})
}
