package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// restartable are the databases that run as servers; each test starts its own.
var restartable = map[string]struct {
	dialect sqllock.Dialect
	start   func(testing.TB, ...string) *sqlserver.Server
}{
	"PostgreSQL": {sqllock.PostgreSQL, sqlserver.Postgres},
	"MariaDB":    {sqllock.MySQL, sqlserver.MariaDB},
}

func eachServer(t *testing.T, f func(t *testing.T, s *sqlserver.Server, d *sqllock.Driver)) {
	t.Parallel()
	var wg sync.WaitGroup
	for name, on := range restartable {
		wg.Go(func() {
			t.Run(name, func(t *testing.T) {
				s := on.start(t)
				d := newDriver(t, s.Open(t), on.dialect, sqllock.Options{})
				must(t, d.CreateTables(t.Context()))
				f(t, s, d)
			})
		})
	}
	wg.Wait()
}

const patience = time.Minute

// eventually waits until a condition is true.
var eventually = rig.Eventually

// A database crashes and comes back while a lease is held, within its trust: the lease continues
// with its fence, and no other owner was granted the key.
func TestRestartWithinTrust(t *testing.T) {
	eachServer(t, func(t *testing.T, s *sqlserver.Server, d *sqllock.Driver) {
		l := lock.New(d, "holder")
		lease, err := l.Acquire(t.Context(), "key", lock.Options{TTL: time.Hour})
		must(t, err)
		s.Kill()
		if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "m/1", TTL: minute}); err == nil || isHeld(err) {
			t.Errorf("from a database that is gone the answer is %v, want doubt", err)
		}
		s.Restart()
		var at driver.KeyState
		eventually(t, "the database answers", func() bool {
			at, err = d.Inspect(t.Context(), "key")
			return err == nil
		})
		if at.Fence != lease.Fence() || lease.Check() != nil {
			t.Errorf("the key stands at %+v; the lease has the fence %d and is %v", at, lease.Fence(), lease.Check())
		}
		eventually(t, "the lease can be renewed", func() bool {
			_, err := d.Renew(t.Context(), driver.LeaseRef{Key: "key", Owner: at.Owner, Fence: at.Fence, TTL: time.Hour})
			return err == nil
		})
		must(t, lease.Release(t.Context()))
	})
}

// A database is lost after it granted a lease, and a replica that had not received the grant
// replaces it. Then two owners hold the key. The second has the higher fence, and the first can no
// longer renew.
func TestFailoverLosesCommits(t *testing.T) {
	eachServer(t, func(t *testing.T, s *sqlserver.Server, d *sqllock.Driver) {
		files, replica := filepath.Join(s.Dir(), "data"), filepath.Join(s.Dir(), "replica")
		s.Stop()
		must(t, exec.Command("cp", "-a", files, replica).Run())
		s.Restart()
		var first, second *lock.Lease
		eventually(t, "the database grants", func() bool {
			var err error
			first, err = lock.New(d, "first").TryAcquire(t.Context(), "key", lock.Options{TTL: time.Hour})
			return err == nil
		})
		s.Kill()
		must(t, os.Rename(files, files+".lost"))
		must(t, os.Rename(replica, files))
		s.Restart()
		eventually(t, "the replica grants", func() bool {
			var err error
			second, err = lock.New(d, "second").TryAcquire(t.Context(), "key", lock.Options{TTL: time.Hour})
			return err == nil
		})
		if err := first.Check(); err != nil {
			t.Errorf("the first lease: %v, want that it is trusted still", err)
		}
		if second.Fence() <= first.Fence() {
			t.Errorf("the fence %d was granted after %d", second.Fence(), first.Fence())
		}
		if err := first.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("the release of the first: %v, want %v", err, lock.ErrLost)
		}
		must(t, second.Release(t.Context()))
	})
}

// A database stands still while a lease is held: its holder is notified before another owner can be
// granted the key, requests end with their contexts, and the database's next grant has a higher
// fence.
func TestFrozen(t *testing.T) {
	eachServer(t, func(t *testing.T, s *sqlserver.Server, d *sqllock.Driver) {
		const ttl = 5 * time.Second
		lease, err := lock.New(d, "holder").Acquire(t.Context(), "key", lock.Options{TTL: ttl})
		must(t, err)
		s.Freeze()
		defer s.Thaw()
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		if _, err := d.Acquire(ctx, driver.Acquisition{Key: "other", Owner: "m/1", TTL: minute}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want that of the context", err)
		}
		select {
		case <-lease.Context().Done():
		case <-time.After(patience):
			t.Fatal("the holder is not notified")
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the cause is %v, want lock.ErrLost", cause)
		}
		s.Thaw()
		var g driver.Grant
		eventually(t, "another is granted the key", func() bool {
			g, err = d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "m/1", TTL: minute})
			return err == nil
		})
		if g.Fence <= lease.Fence() {
			t.Errorf("the fence is %d, the one before was %d", g.Fence, lease.Fence())
		}
	})
}

// Connections are killed after every few grants while many owners take a key from each other: two
// owners never hold it at once, fences grow, and each owner continues.
func TestKilledConnections(t *testing.T) {
	eachServer(t, func(t *testing.T, s *sqlserver.Server, d *sqllock.Driver) {
		admin := sqlserver.Connect(t, s.Driver(), s.DSN(map[string]string{"pgx": "postgres", "mysql": "mysql"}[s.Driver()]))
		ctx, stop := context.WithTimeout(t.Context(), 10*patience) // ninety grants, some of which wait for a probe
		defer stop()
		var inside atomic.Int32
		var fence atomic.Int64
		var wg sync.WaitGroup
		var busy, granted atomic.Int32
		for range 6 {
			l := lock.New(d, "")
			busy.Add(1)
			wg.Go(func() {
				defer busy.Add(-1)
				for range 15 {
					a := driver.Acquisition{Key: "key", Owner: l.Owner(), TTL: minute}
					g, err := d.Wait(ctx, a)
					if err != nil {
						t.Errorf("wait: %v", err)
						return
					}
					granted.Add(1)
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d have the key", n)
					}
					if last := fence.Swap(g.Fence); g.Fence <= last {
						t.Errorf("the fence is %d, after %d", g.Fence, last)
					}
					inside.Add(-1)
					for ctx.Err() == nil { // by the time of a repeated release the key may have been freed, and taken
						err := d.Release(ctx, driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence})
						if err == nil || errors.Is(err, lock.ErrLost) {
							break
						}
					}
				}
			})
		}
		killed := 0
		for at := int32(0); busy.Load() > 0; <-time.After(time.Millisecond) {
			if n := granted.Load(); n >= at+3 {
				killed += kill(t, admin, s.Driver())
				at = n
			}
		}
		wg.Wait()
		if killed == 0 {
			t.Error("no connection was killed")
		}
	})
}

// kill ends the connections of all other clients, and returns how many.
func kill(t *testing.T, admin *sql.DB, driver string) (killed int) {
	t.Helper()
	if driver == "pgx" {
		must(t, admin.QueryRow("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"+
			" WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&killed))
		return killed
	}
	rows, err := admin.Query("SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND user = 'cronce'")
	must(t, err)
	var ids []int
	for rows.Next() {
		var id int
		must(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	must(t, rows.Err())
	for _, id := range ids {
		if _, err := admin.Exec("KILL CONNECTION ?", id); err == nil { // otherwise it is already gone
			killed++
		}
	}
	return killed
}

func isHeld(err error) bool {
	_, held := errors.AsType[*lock.HeldError](err)
	return held
}
