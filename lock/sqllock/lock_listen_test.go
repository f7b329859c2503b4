package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// listener returns a Listener that uses a connection of a pool, and copies each notification to
// received.
func listener(db *sql.DB, received chan<- string) sqllock.Listener {
	return func(ctx context.Context, channel string, receive func(string)) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(c any) error {
			pg := c.(*stdlib.Conn).Conn()
			_, err := pg.Exec(ctx, "LISTEN "+channel)
			for payload := ""; err == nil; {
				receive(payload)
				received <- payload
				n, failed := pg.WaitForNotification(ctx)
				if err = failed; err == nil {
					payload = n.Payload
				}
			}
			return err
		})
	}
}

// A process is notified of a release in another process that keeps the key for its owner, alone or as
// one of two holders.
func TestListen(t *testing.T) {
	t.Parallel()
	on := postgres(t)
	for limit := 1; limit <= 2; limit++ {
		listens(t, on, driver.Acquisition{Key: fmt.Sprint("key-", limit), Owner: "n/2", TTL: minute, Limit: limit})
	}
}

func listens(t *testing.T, on database, waits driver.Acquisition) {
	t.Helper()
	received := make(chan string, 10)
	db := on.connect(t)
	far := newDriver(t, db, on.dialect, sqllock.Options{Listen: listener(db, received)})
	near := newDriver(t, on.connect(t), on.dialect, sqllock.Options{Listen: listener(on.connect(t), make(chan string, 10))})
	a := driver.Acquisition{Key: waits.Key, Owner: "n/1", TTL: minute}
	g, err := near.Acquire(t.Context(), a)
	must(t, err)
	served := make(chan error, 1)
	go func() {
		_, err := far.Wait(t.Context(), waits)
		served <- err
	}()
	if first := <-received; first != "" {
		t.Fatalf("the first payload is %q", first)
	}
	eventually(t, "it waits", func() bool {
		at, err := near.Inspect(t.Context(), a.Key)
		return err == nil && at.Waiting == 1
	})
	must(t, near.Release(t.Context(), driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence}))
	must(t, <-served)
	select {
	case owner := <-received:
		if owner != "n/2" {
			t.Errorf("%q is notified, want n/2", owner)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the process was not notified: its waiter looked")
	}
}

// A process listens as long as one of its owners waits, and for 5 seconds more. This also holds if
// the owner came while the last owner before it left.
func TestListensWhileOwnersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listening atomic.Bool
		d := newDriver(t, new(sql.DB), sqllock.PostgreSQL, sqllock.Options{Listen: func(ctx context.Context, _ string, receive func(string)) error {
			listening.Store(true)
			receive("")
			<-ctx.Done()
			listening.Store(false)
			return ctx.Err()
		}})
		want := func(when string, want bool) {
			t.Helper()
			if synctest.Wait(); listening.Load() != want || d.Notified() != want {
				t.Errorf("%s: it listens is %v, it counts on notifications is %v", when, listening.Load(), d.Notified())
			}
		}
		leave, stopListening := d.Arrive("key", "n/1")
		leave()
		leaveNext, closeNext := d.Arrive("key", "n/2")
		stopListening()
		time.Sleep(time.Minute)
		want("an owner waits", true)
		leaveNext()
		closeNext()
		time.Sleep(5*time.Second - 1)
		want("just after", true)
		time.Sleep(time.Nanosecond)
		want("5 seconds after", false)
		time.Sleep(time.Minute) // the pause after a Listener has returned
		leave, stopListening = d.Arrive("key", "n/3")
		want("another owner waits", true)
		leave()
		stopListening()
		time.Sleep(time.Minute)
		want("a minute after", false)
	})
}

// A process has one call of the Listener at a time, also if the last one is slow to end.
func TestListensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		d := newDriver(t, new(sql.DB), sqllock.PostgreSQL, sqllock.Options{Listen: func(ctx context.Context, _ string, _ func(string)) error {
			most.Store(max(most.Load(), running.Add(1)))
			<-ctx.Done()
			time.Sleep(time.Minute)
			running.Add(-1)
			return ctx.Err()
		}})
		for range 3 {
			leave, stopListening := d.Arrive("key", "n/1")
			time.Sleep(time.Second)
			leave()
			stopListening()
			time.Sleep(6 * time.Second) // it is to end now
		}
		time.Sleep(5 * time.Minute)
		if most.Load() != 1 {
			t.Errorf("there were %d calls at once, want 1", most.Load())
		}
	})
}

// A process that may pass a key on inside does so before owners that came earlier in another
// process, as often in a row as it may and no more.
func TestInside(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{Inside: 2})
		other := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "first/1", TTL: minute})
		must(t, err)
		served := make(chan string, 4)
		var wg sync.WaitGroup
		for i, at := range []*sqllock.Driver{other, d, d, d} {
			owner := fmt.Sprint(i, "/1")
			wg.Go(func() {
				g, err := at.Wait(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: minute})
				if err == nil {
					served <- owner
					err = at.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: owner, Fence: g.Fence})
				}
				if err != nil {
					t.Errorf("%s: %v", owner, err)
				}
			})
			eventually(t, "it waits", func() bool {
				is, err := other.Inspect(t.Context(), "key")
				return err == nil && is.Waiting == i+1
			})
		}
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "first/1", Fence: g.Fence}))
		for _, want := range []string{"1/1", "2/1", "0/1", "3/1"} {
			if got := <-served; got != want {
				t.Errorf("%s is served, want %s", got, want)
			}
		}
		wg.Wait()
	})
}

// A notification that is lost costs the waiter no more than a probe, which comes while the key is
// still kept for it. This holds whether the listener's connection receives nothing, as a connection
// behind a pooler does, or is cut just before the release.
func TestLostNotification(t *testing.T) {
	t.Parallel()
	on := postgres(t)
	for name, lose := range map[string]struct {
		listener func(db *sql.DB, received chan<- string) sqllock.Listener
		cut      string
	}{
		"dropped": {func(_ *sql.DB, received chan<- string) sqllock.Listener {
			return func(ctx context.Context, _ string, receive func(string)) error {
				receive("")
				received <- ""
				<-ctx.Done()
				return ctx.Err()
			}
		}, "SELECT 1"},
		"cut": {listener, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := make(chan string, 10)
			namespace := fresh()
			asks, sent := on.lossyOn(t)
			far := newDriver(t, asks, on.dialect, sqllock.Options{Namespace: namespace, Listen: lose.listener(on.connect(t), received)})
			db := on.connect(t)
			near := newDriver(t, db, on.dialect, sqllock.Options{Namespace: namespace, Listen: listener(on.connect(t), make(chan string, 10))})
			a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
			g, err := near.Acquire(t.Context(), a)
			must(t, err)
			served := make(chan error, 1)
			go func() {
				_, err := far.Wait(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute})
				served <- err
			}()
			<-received // it listens, or assumes so
			eventually(t, "it waits", func() bool {
				at, err := near.Inspect(t.Context(), "key")
				return err == nil && at.Waiting == 1
			})
			before := sent.Calls.Load()
			eventually(t, "it has looked", func() bool { return sent.Calls.Load() <= before-2 }) // the first probe may follow directly on its entry
			_, err = db.Exec(lose.cut)
			must(t, err)
			began := time.Now()
			must(t, near.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}))
			must(t, <-served)
			if took := time.Since(began); took > 30*time.Second { // it takes 2 s; the other waiters probe once a minute
				t.Errorf("the wake-up that was lost cost %v", took)
			}
		})
	}
}
