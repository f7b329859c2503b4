// Command fence writes to a database under a lock. The first holder is paused beyond its
// lease, the second one writes, and the database refuses the late write of the first.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the database/sql driver

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("sqlite", "file:invoices.db")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := run(ctx, "127.0.0.1:6379", db, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const key = "invoice/4711"

func run(ctx context.Context, address string, db *sql.DB, out io.Writer) error {
	if err := prepare(ctx, db); err != nil {
		return err
	}
	options := &redis.UniversalOptions{Addrs: []string{address}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		return err
	}
	locker, risks, err := lock.Open(ctx, store, "") // one per process and store; refuses a store that is not fit
	if err != nil {
		return err
	}
	for _, risk := range risks {
		fmt.Fprintln(out, "risk:", risk)
	}

	paused, err := locker.Acquire(ctx, key, lock.Options{TTL: 500 * time.Millisecond, Fixed: true}) // no renewals, as in a pause
	if err != nil {
		return err
	}
	<-paused.Context().Done()
	fmt.Fprintln(out, "first:", context.Cause(paused.Context()))

	if err := markSent(ctx, locker, db); err != nil {
		return err
	}
	fmt.Fprintln(out, "second: written")

	err = write(ctx, db, paused.Fence()) // the first holder goes on
	fmt.Fprintln(out, "first:", err)
	if !errors.Is(err, guard.ErrStale) {
		return fmt.Errorf("the late write was not refused: %w", err)
	}
	return nil
}

// markSent writes under the lock. Do waits for the lock, renews it while the function runs,
// and releases it.
func markSent(ctx context.Context, locker *lock.Locker, db *sql.DB) error {
	return locker.Do(ctx, key, lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
		if err := lease.Check(); err != nil { // reads the clock, right before a write that cannot be undone
			return err
		}
		return write(ctx, db, lease.Fence())
	})
}

// write is refused with guard.ErrStale once the row has seen a higher fence.
func write(ctx context.Context, db *sql.DB, fence int64) error {
	done, err := db.ExecContext(ctx,
		`UPDATE invoice SET state = 'sent', fence = $1 WHERE id = 4711 AND `+guard.Condition("fence", "$1"), fence)
	if err != nil {
		return err
	}
	return guard.Written(done)
}

func prepare(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS invoice (id INTEGER PRIMARY KEY, state TEXT NOT NULL, fence INTEGER)`); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO invoice (id, state) VALUES (4711, 'open') ON CONFLICT DO NOTHING`)
	return err
}
