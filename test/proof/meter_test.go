package proof_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/test/proof"
)

// A store that does not reply for a while is no fault of the nodes: the meter measured it from outside.
func TestMeterSeesTheStoreStandStill(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member)
	const still = time.Second
	from := time.Now()
	if err := syscall.Kill(c.Store.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.Pass(still)
	if err := syscall.Kill(c.Store.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	to := time.Now()
	for give := to.Add(patience); c.Starved(from, to) < still/2; <-time.After(10 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("a store stood still for %v, and the meter saw waits of %v", to.Sub(from), c.Starved(from, to))
		}
	}
	if got := c.Starved(from, to); got > time.Since(from)+still/2 { // one may have begun a little earlier
		t.Errorf("in %v the meter saw waits of %v: some count twice", time.Since(from), got)
	}
}
