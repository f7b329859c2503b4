package lockcommand

import (
	"context"
	"errors"
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
