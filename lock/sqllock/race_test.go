package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/sqllock"
)

const (
	childDriver  = "CRONCE_SQLLOCK_DRIVER" // set: this process is one of the racers
	childDSN     = "CRONCE_SQLLOCK_DSN"
	childDialect = "CRONCE_SQLLOCK_DIALECT"
)

const (
	racers = 3  // processes
	lanes  = 2  // goroutines in each
	laps   = 10 // of each goroutine
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childDriver); name != "" {
		dialect, _ := strconv.Atoi(os.Getenv(childDialect))
		if err := race(name, os.Getenv(childDSN), sqllock.Dialect(dialect)); err != nil { //nolint:gosec // 1 to 3
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // a nil logger is not allowed; connections are broken on purpose
	os.Exit(sqlserver.Main(m))
}

// Processes that share only the database add to one number, under a lock, by reading it and writing
// it back: if two ever held the lock at once, an addition would be lost. The fence at each write is
// above the fence before.
func TestProcesses(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		for _, s := range []string{"CREATE TABLE tally (n BIGINT NOT NULL, fence BIGINT NOT NULL)", "INSERT INTO tally VALUES (0, 0)"} {
			_, err := db.Exec(s)
			must(t, err)
		}
		var wg sync.WaitGroup
		for range racers {
			wg.Go(func() {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), childDriver+"="+on.driver, childDSN+"="+on.dsn, childDialect+"="+strconv.Itoa(int(on.dialect)))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("a racer: %v\n%s", err, out)
				}
			})
		}
		wg.Wait()
		var n int
		must(t, db.QueryRow("SELECT n FROM tally").Scan(&n))
		if n != racers*lanes*laps {
			t.Errorf("the number is %d, want %d: additions were lost", n, racers*lanes*laps)
		}
	})
}

// race runs one of the processes.
func race(name, dsn string, dialect sqllock.Dialect) error {
	db, err := sql.Open(name, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	d, err := sqllock.New(db, dialect, sqllock.Options{})
	if err != nil {
		return err
	}
	l := lock.New(d, "")
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	errs := make(chan error, lanes)
	for range lanes {
		go func() {
			var err error
			for range laps {
				if err == nil {
					err = l.Do(ctx, "the tally", lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
						return add(ctx, db, lease.Fence())
					})
				}
			}
			errs <- err
		}()
	}
	for range lanes {
		if e := <-errs; e != nil {
			err = e
		}
	}
	return err
}

// add adds one in a way that is correct only if no other caller adds at the same time.
func add(ctx context.Context, db *sql.DB, fence int64) error {
	var n, last int64
	if err := db.QueryRowContext(ctx, "SELECT n, fence FROM tally").Scan(&n, &last); err != nil {
		return err
	}
	if fence <= last {
		return fmt.Errorf("the fence is %d, at the last write it was %d", fence, last)
	}
	for {
		_, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE tally SET n = %d, fence = %d", n+1, fence))
		if err == nil || ctx.Err() != nil || !sqllock.TakenBack(err) {
			return err
		}
	}
}
