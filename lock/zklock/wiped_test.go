package zklock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// An ensemble is set up anew, empty, under a process that lives on. The fences that the process is
// granted there are above the fences of a process that knows only the new ensemble. Its client
// connects once the new ensemble has made as many changes as the client saw of the old one. Until
// then the explanation says what helps, and several looks at once name the cause once.
func TestFencesGrowOverANewEnsemble(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	d := newDriver(t, s.Addr(), zklock.Options{})
	before := lock.New(d, "before")
	for i := range 20 {
		must(t, hold(t, before, fmt.Sprint("other", i)).Release(t.Context()))
	}
	_, err := d.Now(t.Context())
	must(t, err)
	s.Kill()
	must(t, os.RemoveAll(filepath.Join(s.Dir(), "data")))
	s.Restart()
	after := lock.New(newDriver(t, s.Addr(), zklock.Options{}), "after")
	first := hold(t, after, "k")
	must(t, first.Release(t.Context()))
	rig.Eventually(t, "the explanation names the restart", func() bool {
		_, err := d.Now(t.Context())
		return err != nil && strings.Contains(d.Explain(err), "must be restarted")
	})
	if _, err := d.Peek(t.Context(), []series.NumberRef{{Key: "a", Number: 1}, {Key: "b", Number: 1}}, false); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("two looks fail with %q, want one cause", err)
	}
	for i := range 50 {
		must(t, hold(t, after, fmt.Sprint("other", i)).Release(t.Context()))
	}
	var second *lock.Lease
	rig.Eventually(t, "it is granted", func() bool {
		var err error
		second, err = before.TryAcquire(t.Context(), "k", lock.Options{})
		return err == nil
	})
	if second.Fence() <= first.Fence() {
		t.Errorf("the fence is %d, that of the owner before %d", second.Fence(), first.Fence())
	}
}
