package zklock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/zklock"
)

// An ensemble is set up anew, empty, under a process that lives on. The fences that the process is
// granted there are above the fences of a process that knows only the new ensemble. Its client
// gives up its session, which the new ensemble refuses until it has made as many changes as the old one.
func TestFencesGrowOverANewEnsemble(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	d := newDriver(t, s.Addr(), zklock.Options{})
	before := lock.New(d, "before")
	for i := range 200 { // more changes than the new ensemble sees during the test
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
