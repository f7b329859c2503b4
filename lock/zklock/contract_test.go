package zklock_test

import (
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// longSession is long enough for the leases of the contract, which have a TTL of a minute.
const longSession = 3 * time.Minute

// allParts is the environment variable with which TestContract also runs the parts that
// TestContractExact runs: their leases then expire in real time.
const allParts = "CRONCE_ZOOKEEPER_ALL"

// exactly lists the parts about series that TestContractExact also runs on a real server, with a
// clock that the test moves; the other parts show that the leader's clock judges.
var exactly = []string{"claims", "queues", "pauses", "the rules", "batches", "arguments"}

// The driver keeps the contract on a real server. A waiter that died is passed over with its
// session, not within two seconds: those parts are not run, and TestDeadWaiterIsPassedOver replaces
// them.
//
// Leases expire in real time here, so the parts run concurrently, in two halves.
func TestContract(t *testing.T) {
	t.Parallel()
	all := os.Getenv(allParts) != ""
	half := func(part string) bool {
		return slices.Contains([]string{"claims", "runs", "fences", "asked again", "names", "batches"}, part)
	}
	run := func(part string) bool { return all || !slices.Contains(exactly, part) }
	t.Run("first", func(t *testing.T) { contract(t, func(part string) bool { return run(part) && half(part) }) })
	t.Run("second", func(t *testing.T) { contract(t, func(part string) bool { return run(part) && !half(part) }) })
}

func contract(t *testing.T, only func(part string) bool) {
	t.Parallel()
	s := zkserver.Start(t, "maxSessionTimeout=600000")
	op := operator(t, s.Addr())
	var d *zklock.Driver
	var namespace string
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			namespace = fresh()
			d = newDriver(t, s.Addr(), zklock.Options{Namespace: namespace, Session: longSession})
			return d
		},
		Wait:   func(w time.Duration) { waitOn(t, d, w) },
		Forget: func() { deleteAll(t, op, "/"+namespace) },
		Only:   only,
	})
}

// On a real server series are decided by the rules even if the clock jumps: the test sets the
// clock, so that every time is compared exactly. Plain leases, which no clock of a server judges,
// are kept in memory here.
func TestContractExact(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	var ms atomic.Int64
	ms.Store(1_795_207_852_937)
	clock := func() time.Time { return time.UnixMilli(ms.Load()) }
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			d := newDriver(t, addr, zklock.Options{Namespace: fresh()})
			d.ClockFrom(ms.Load)
			return seriesOnly{memlock.New(memlock.Options{Now: clock}), d, d, d, d}
		},
		Wait:     func(d time.Duration) { ms.Add(d.Milliseconds()) },
		SetClock: func(now time.Time) { ms.Store(now.UnixMilli()) },
		Rounds:   15,
	})
}

// seriesOnly takes plain leases from one driver and series from another.
type seriesOnly struct {
	driver.Driver
	series.Numbered
	series.Controlled
	series.Peeker
	series.Journaled
}
