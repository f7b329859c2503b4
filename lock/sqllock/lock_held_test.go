package sqllock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/sqllock"
)

// A process holds many leases with the default TTL for a minute, and loses none. The test logs the
// CPU time that the process and the server used: docs/limits.md has these numbers.
func TestHeldLeases(t *testing.T) {
	if os.Getenv("CRONCE_SOAK") == "" {
		t.Skip("minutes long: set CRONCE_SOAK")
	}
	const n, span = 5000, time.Minute
	for _, open := range []func(testing.TB) (database, int){
		func(t testing.TB) (database, int) { return sqlite(t), 0 }, // no server
		func(t testing.TB) (database, int) { return postgres(t), sqlserver.SharedPostgres(t).Pid() },
		func(t testing.TB) (database, int) { return mariadb(t), sqlserver.SharedMariaDB(t).Pid() },
	} {
		on, pid := open(t)
		t.Run(on.name, func(t *testing.T) {
			l := lock.New(newDriver(t, on.connect(t), on.dialect, sqllock.Options{}), "a")
			leases := make([]*lock.Lease, n)
			for i := range leases {
				var err error
				leases[i], err = l.TryAcquire(t.Context(), fmt.Sprint("session/", i), lock.Options{})
				must(t, err)
			}
			here, there := serverprocess.CPU(os.Getpid(), false), serverprocess.CPU(pid, true)
			time.Sleep(span)
			servers := serverprocess.CPU(pid, true) - there
			own := serverprocess.CPU(os.Getpid(), false) - here
			lost := 0
			for _, s := range leases {
				if s.Check() != nil {
					lost++
					t.Logf("%v", context.Cause(s.Context()))
				}
				s.Abandon(nil)
			}
			if pid == 0 {
				servers = 0
			}
			t.Logf("%d leases of %v: %.1f%% of a core here, %.1f%% in the server", n, lock.DefaultTTL,
				100*float64(own)/float64(span), 100*float64(servers)/float64(span))
			if lost > 0 {
				t.Errorf("%d of %d leases are lost", lost, n)
			}
		})
	}
}
