package lockcommand

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A signal between the grant and the start of the command is no fault of the command: its code would be 126.
func TestStoppedBeforeStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := execute(ctx, t.Context(), 1, []string{"true"}, nil, 0, &cobra.Command{})
	if err == nil || !strings.Contains(err.Error(), "stopped before the command was started") || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := exit.Code(err, true); got != exit.Failed {
		t.Errorf("the exit code is %d", got)
	}
}

// hung is a store whose client does not return from a request, while cronce gets a signal.
type hung struct {
	clients.Driver
	stop    func()
	returns chan struct{}
}

func (h hung) CheckStore(context.Context) ([]driver.Risk, error) { return nil, nil }
func (h hung) Explain(error) string                              { return "" }
func (h hung) Refuses(error) bool                                { return false }
func (h hung) Acquire(context.Context, driver.Acquisition) (driver.Grant, error) {
	h.stop()
	<-h.returns
	return driver.Grant{}, errors.New("no answer")
}
func (h hung) Release(context.Context, driver.LeaseRef) error { return nil }

// A signal during a request that does not return leaves a doubt: the store may have granted the lock.
func TestStoppedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := hung{stop: stop, returns: make(chan struct{})}
		_, err := lockStore{&clients.Store{Config: config.Default(nil), Driver: h}}.lease(ctx, ctx, "k", lockFlags{ttl: 30 * time.Second, try: true})
		if exit.Code(err, true) != exit.NotKnown || strings.Contains(err.Error(), "stopped before it was acquired") {
			t.Error(err)
		}
		close(h.returns)
		synctest.Wait()
	})
}

// waitedFor is a store that a command waits for.
type waitedFor struct {
	clients.Driver
	probed, checked error
	refuses         bool
}

func (w waitedFor) Inspect(context.Context, string) (driver.KeyState, error) {
	return driver.KeyState{}, w.probed
}
func (w waitedFor) CheckStore(context.Context) ([]driver.Risk, error) { return nil, w.checked }
func (w waitedFor) Explain(error) string                              { return "" }
func (w waitedFor) Refuses(error) bool                                { return w.refuses }

// A call that waits prints why, and prints it again each minute: also on a store that answers, and takes no writes. The wait for
// a store that refuses the user three times in a row ends.
func TestReasonIsRepeated(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		store waitedFor
		want  int // lines in three minutes
	}{
		"no answer":             {waitedFor{probed: down, checked: down}, 3},
		"no writes":             {waitedFor{checked: fmt.Errorf("a replica: %w", driver.ErrUnfit)}, 3},
		"the user is refused":   {waitedFor{probed: down, refuses: true}, 1},
		"all is well":           {waitedFor{}, 0},
		"the check is in doubt": {waitedFor{checked: down}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var printed strings.Builder
				var given time.Duration
				began := time.Now()
				over := lockStore{&clients.Store{Config: config.Default(nil), Driver: c.store}}.reportDoubt(t.Context(), &printed, "k", func(error) {
					if given = time.Since(began); !c.store.refuses {
						t.Error("given up")
					}
				})
				time.Sleep(3*time.Minute + probeEvery/2)
				over()
				synctest.Wait()
				if n := strings.Count(printed.String(), "still waiting\n"); n != c.want {
					t.Errorf("%d lines, want %d: %s", n, c.want, &printed)
				}
				if c.store.refuses && given != mostRefusals*probeEvery {
					t.Errorf("given up after %v", given)
				}
			})
		})
	}
}

// A granting store calls granted when it has granted a claim. With mute it does not answer the end of a run.
type granting struct {
	*memlock.Store
	granted func()
	mute    bool
}

func (g granting) CheckStore(context.Context) ([]driver.Risk, error) { return nil, nil }
func (g granting) Namespace() string                                 { return "t" }
func (g granting) Explain(error) string                              { return "" }
func (g granting) Refuses(error) bool                                { return false }
func (g granting) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	defer g.granted()
	return g.Store.Claim(ctx, cs)
}

func (g granting) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	if g.mute {
		return []series.EndAnswer{{Err: errors.New("no answer")}}
	}
	return g.Store.ReleaseRuns(ctx, es)
}

// A call that is stopped between the grant of its tick and the start of its command knows that the command was not started: it gives the tick
// back, and another call runs it. A call whose lease is over by then has lost the lock.
func TestTickGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		signal bool
		mute   bool
		code   int
		text   string
	}{
		"a signal":                 {true, false, exit.Failed, "stopped before the command was started; the tick of 2000-01-01T00:00:00.000Z was given back"},
		"a signal, and no answer":  {true, true, exit.NotKnown, "whether the tick of 2000-01-01T00:00:00.000Z was given back is not known: no answer"},
		"the machine is suspended": {false, false, exit.Failed, "was lost: the command of 2000-01-01T00:00:00.000Z was not started"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				g := granting{memlock.New(memlock.Options{}), stop, c.mute}
				if !c.signal {
					g.granted = func() { time.Sleep(4 * time.Second) }
				}
				f := lockFlags{schedule: schedule(t, "@every 1m"), ttl: 4 * time.Second}
				s := lockStore{&clients.Store{Config: config.Default(nil), Driver: g}}
				err := s.runTick(ctx, ctx, &cobra.Command{}, "k", []string{"false"}, nil, f)
				if err == nil || exit.Code(err, true) != c.code || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, want the exit code %d", err, c.code)
				}
				next := tickCall{store: g.Store, node: "m", key: "lock/k", schedule: f.schedule, ttl: f.ttl}
				if a, err := next.claim(t.Context()); err != nil || (a.Lease != nil) == c.mute {
					t.Errorf("the next call gets %+v, %v", a, err)
				}
			})
		})
	}
}

// A forced unlock without a fence takes the lock from all present holders, in whatever order the store names them.
func TestLatestFence(t *testing.T) {
	for want, holders := range map[int64][]driver.Holder{0: nil, 9: {{Fence: 7}, {Fence: 9}, {Fence: 8}, {Fence: 0}}} {
		if got := latestFence(holders); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// In JSON the time that a holder has left is in milliseconds, and a lock that is shared has no limit.
func TestReport(t *testing.T) {
	r := lockReportOf("k", []driver.Holder{{Owner: "a", Limit: lock.NoLimit, Left: 1500 * time.Millisecond}, {Owner: "b", Limit: 3}}, 0, nil)
	if a, b := r.Holders[0], r.Holders[1]; a.LeftMs != 1500 || a.Limit != nil || b.Limit == nil || *b.Limit != 3 {
		t.Errorf("%+v %+v", a, b)
	}
}
