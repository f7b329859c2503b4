package zklock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/zklock"
)

// longSession leaves the leases of the contract, of a minute, their whole time.
const longSession = 3 * time.Minute

// The driver keeps the contract on a real server. A waiter that died is passed
// over with its session, not within two seconds: that part is not run, and
// TestDeadWaiterIsPassedOver takes its place.
func TestContract(t *testing.T) {
	s := zkserver.Start(t, "maxSessionTimeout=600000")
	var d *zklock.Driver
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) lock.Driver {
			d = driver(t, s.Addr(), zklock.Options{Namespace: fresh(), Session: longSession})
			return d
		},
		Wait: func(w time.Duration) { waitOn(t, d, w) },
	})
}
