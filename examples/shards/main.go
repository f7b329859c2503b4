// Command shards works through a table of a million rows, once, with one job that has 100 shards, on ten
// processes. Meanwhile it kills a process every second and starts another one. No row is done twice: each write carries the
// fence of its shard, and a row has the tick for which it was done.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver

	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/scheduler"
)

const (
	job   = "work-through"
	batch = 500 // rows of one transaction
)

func main() {
	rows := flag.Int("rows", 1_000_000, "")
	shards := flag.Int("shards", 100, "")
	nodes := flag.Int("nodes", 10, "")
	every := flag.Duration("kill", time.Second, "pause between kills")
	dir := flag.String("node", "", "run a node on the databases of this folder")
	at := flag.Int64("at", 0, "the tick of the node, Unix seconds")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	if *dir != "" {
		log.Fatal(node(ctx, *dir, *shards, time.Unix(*at, 0)))
	}
	if err := run(ctx, *rows, *shards, *nodes, *every, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run makes the table, runs the nodes until the tick is settled, and counts the rows.
func run(ctx context.Context, rows, shards, nodes int, every time.Duration, out io.Writer) error {
	dir, err := os.MkdirTemp("", "shards")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	table, err := open(dir, "table")
	if err != nil {
		return err
	}
	defer table.Close()
	if err := fill(ctx, table, rows, shards); err != nil {
		return err
	}
	db, store, err := openStore(ctx, dir)
	if err != nil {
		return err
	}
	defer db.Close()

	at := time.Now().Add(3 * time.Second)
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "-node", dir, "-shards", strconv.Itoa(shards), "-at", strconv.FormatInt(at.Unix(), 10))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			log.Fatal(err)
		}
		return cmd
	}
	alive := make([]*exec.Cmd, nodes)
	for i := range alive {
		alive[i] = start()
	}
	defer func() {
		for _, cmd := range alive {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	time.Sleep(time.Until(at))

	killed, next := 0, time.Now().Add(every)
	for {
		j, err := store.Journal(ctx, job, 1)
		if err != nil {
			return err
		}
		if n := len(j.Lines); n > 0 && j.Lines[n-1].Ended != 0 {
			fmt.Fprintf(out, "%d shards on %d processes, %d kills: the tick is %s\n", j.Lines[n-1].Shards, nodes, killed, j.Lines[n-1].Outcome)
			return count(ctx, table, rows, out)
		}
		if time.Now().After(next) {
			i := rand.IntN(nodes)
			_ = alive[i].Process.Kill()
			_ = alive[i].Wait()
			alive[i] = start()
			killed, next = killed+1, time.Now().Add(every)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// node is one process: it runs shards until it is killed.
func node(ctx context.Context, dir string, shards int, at time.Time) error {
	table, err := open(dir, "table")
	if err != nil {
		return err
	}
	db, store, err := openStore(ctx, dir)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := scheduler.New(scheduler.Config{Store: store, Concurrency: 4, Logger: slog.New(slog.DiscardHandler), Jobs: []scheduler.Job{{
		Name: job, At: at, Shards: shards, Takeover: scheduler.TakeoverRerun, Attempts: 100, Deadline: time.Minute, Lease: 2 * time.Second,
		Retry: scheduler.Retry{Tries: 1000, Wait: 50 * time.Millisecond, Max: time.Second}, // SQLite may be busy
		Func:  func(ctx context.Context, r *scheduler.Run) error { return workThrough(ctx, table, r) },
	}}})
	if err != nil {
		return err
	}
	return n.Run(ctx)
}

// workThrough does the rows of one shard, in batches. A row is done unless it was done for this tick, or an owner with a
// higher fence has written it: an attempt of a dead node is continued where it ended, and a paused one changes nothing more.
func workThrough(ctx context.Context, table *sql.DB, r *scheduler.Run) error {
	for {
		done, err := table.ExecContext(ctx, `UPDATE work SET times = times + 1, tick = ?, fence = ?
			WHERE id IN (SELECT id FROM work WHERE shard = ? AND tick < ? AND fence < ? LIMIT ?)`,
			r.Tick.UnixMilli(), r.Fence, r.Shard, r.Tick.UnixMilli(), r.Fence, batch)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
	}
}

func fill(ctx context.Context, table *sql.DB, rows, shards int) error {
	_, err := table.ExecContext(ctx, `CREATE TABLE work (id INTEGER PRIMARY KEY, shard INTEGER, tick INTEGER DEFAULT 0, fence INTEGER DEFAULT 0, times INTEGER DEFAULT 0);
		CREATE INDEX by_shard ON work (shard, tick);
		INSERT INTO work (id, shard) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < `+strconv.Itoa(rows)+`) SELECT i, i % `+strconv.Itoa(shards)+` FROM n;`)
	return err
}

// count returns an error unless each row was done once.
func count(ctx context.Context, table *sql.DB, rows int, out io.Writer) error {
	var all, once, fences int
	if err := table.QueryRowContext(ctx, "SELECT count(*), sum(times = 1), count(DISTINCT fence) FROM work").Scan(&all, &once, &fences); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %d rows were done once, under %d fences\n", once, rows, fences)
	if all != rows || once != rows {
		return fmt.Errorf("%d rows were not done once", rows-once)
	}
	return nil
}

func open(dir, name string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(dir, name)+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate")
}

func openStore(ctx context.Context, dir string) (*sql.DB, *sqllock.Driver, error) {
	db, err := open(dir, "store")
	if err != nil {
		return nil, nil, err
	}
	store, err := sqllock.New(db, sqllock.SQLite, sqllock.Options{Namespace: "example"})
	if err != nil {
		return nil, nil, err
	}
	return db, store, store.CreateTables(ctx)
}
