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
	"github.com/cronce/cronce/lock/driver"
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
	looked, checked error
}

func (w waitedFor) Inspect(context.Context, string) (driver.KeyState, error) {
	return driver.KeyState{}, w.looked
}
func (w waitedFor) CheckStore(context.Context) ([]driver.Risk, error) { return nil, w.checked }
func (w waitedFor) Explain(error) string                              { return "" }
func (w waitedFor) Refuses(error) bool                                { return false }

// Whoever waits sees why, and a minute later sees it again: also on a store that answers, and takes no writes.
func TestReasonIsRepeated(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		store waitedFor
		want  int // lines in three minutes
	}{
		"no answer":             {waitedFor{looked: down, checked: down}, 3},
		"no writes":             {waitedFor{checked: fmt.Errorf("a replica: %w", driver.ErrUnfit)}, 3},
		"all is well":           {waitedFor{}, 0},
		"the check is in doubt": {waitedFor{checked: down}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var printed strings.Builder
				over := lockStore{&clients.Store{Config: config.Default(nil), Driver: c.store}}.reportDoubt(t.Context(), &printed, "k", func(error) { t.Error("given up") })
				time.Sleep(3*time.Minute + probeEvery/2)
				over()
				if n := strings.Count(printed.String(), "still waiting\n"); n != c.want {
					t.Errorf("%d lines, want %d: %s", n, c.want, &printed)
				}
			})
		})
	}
}
