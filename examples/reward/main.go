// Command reward lets five members of a family claim one reward at once. One of them gets it, and
// the others learn which one. A lock on the reward lets one claim run at a time, so that the work
// before a claim is done once. The row of the reward, with its unique key and the fence of the
// lease, would be enough for the promise by itself.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
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
	db, err := sql.Open("sqlite", "file:rewards.db?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := run(ctx, "127.0.0.1:6379", db, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

var members = []string{"ada", "ben", "cleo", "dan", "eve"}

func run(ctx context.Context, address string, db *sql.DB, out io.Writer) error {
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
	if err := createTable(ctx, db); err != nil {
		return err
	}

	owners, errs := make([]string, len(members)), make([]error, len(members))
	var claims sync.WaitGroup
	for i, member := range members {
		claims.Go(func() {
			owners[i], errs[i] = claim(ctx, locker, db, "family-4711", "welcome", member, func(context.Context) error {
				_, err := fmt.Fprintln(out, "a voucher is set aside for", member) // by one claim at a time
				return err
			})
		})
	}
	claims.Wait()
	for i, member := range members {
		switch {
		case errs[i] != nil: // not known: the same member may claim again
			fmt.Fprintf(out, "%s: %v\n", member, errs[i])
		case owners[i] == member:
			fmt.Fprintf(out, "%s has the reward\n", member)
		default:
			fmt.Fprintf(out, "%s is refused: %s has it\n", member, owners[i])
		}
	}
	return nil
}

// claim gives a family's reward to a member, unless another one has it, and returns the member that
// has it. Work runs before, for one member of the family at a time. A claim may be repeated, also
// after an error: the member that has the reward gets the same answer again.
func claim(ctx context.Context, locker *lock.Locker, db *sql.DB, family, reward, member string, work func(context.Context) error) (owner string, err error) {
	err = locker.Do(ctx, "reward/"+family+"/"+reward, lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
		if owner, err = enter(ctx, db, family, reward, lease.Fence()); err != nil || owner != "" {
			return err
		}
		if err := work(ctx); err != nil { // ctx ends when the lease is lost
			return err
		}
		if err := record(ctx, db, family, reward, member, lease.Fence()); err != nil {
			return err
		}
		owner = member
		return nil
	})
	return owner, err
}

func createTable(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS reward
		(family TEXT NOT NULL, name TEXT NOT NULL, member TEXT, fence INTEGER NOT NULL, PRIMARY KEY (family, name))`)
	return err
}

// enter stores the fence before it reads: from then on no lower fence writes. It returns the member
// that has the reward; empty: none.
func enter(ctx context.Context, db *sql.DB, family, reward string, fence int64) (owner string, err error) {
	done, err := db.ExecContext(ctx, `INSERT INTO reward (family, name, fence) VALUES ($1, $2, $3)
		ON CONFLICT (family, name) DO UPDATE SET fence = $3 WHERE `+guard.Condition("reward.fence", "$3"), family, reward, fence)
	if err == nil {
		err = guard.Written(done)
	}
	if err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, `SELECT COALESCE(member, '') FROM reward WHERE family = $1 AND name = $2`, family, reward).Scan(&owner)
	return owner, err
}

// record is refused with guard.ErrStale once the row has seen a higher fence, or has a member.
func record(ctx context.Context, db *sql.DB, family, reward, member string, fence int64) error {
	done, err := db.ExecContext(ctx, `UPDATE reward SET member = $1
		WHERE family = $2 AND name = $3 AND member IS NULL AND fence = $4`, member, family, reward, fence)
	if err != nil {
		return err
	}
	return guard.Written(done)
}
