package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

const (
	storeNodes = 3
	storeJobs  = 20
	afterwards = 12 * time.Second // after the failure of the server: longer than the deadline of the jobs
)

// A kept is a column of the table: how its server is started, and how it is broken.
type kept struct {
	name  string
	start func(testing.TB) (at storeAt, fail func())
}

// PostgreSQL, MariaDB and SQLite answer a commit when it is on disk. Redis persists nothing, and
// ZooKeeper leaves the flushing of its log to the system: see internal/zkserver.
var keptStores = []kept{
	{"Redis, the master killed, its replica promoted by Sentinels", func(t testing.TB) (storeAt, func()) {
		master := redisserver.Start(t)
		redisserver.Replica(t, master)
		at := storeAt{Kind: redisStore, Master: redisserver.MasterName}
		for _, s := range redisserver.Sentinels(t, master, 1) {
			at.Addrs = append(at.Addrs, s.Addr())
		}
		return at, master.Kill
	}},
	{"PostgreSQL, killed and restarted", func(t testing.TB) (storeAt, func()) {
		s := durablePostgres(t)
		return storeAt{Kind: postgresStore, Addrs: []string{s.DSN(s.Create(t))}}, func() { s.Kill(); s.Restart() }
	}},
	{"MariaDB, killed and restarted", func(t testing.TB) (storeAt, func()) {
		s := durableMariaDB(t)
		return storeAt{Kind: mysqlStore, Addrs: []string{s.DSN(s.Create(t))}}, func() { s.Kill(); s.Restart() }
	}},
	{"ZooKeeper, the leader of three killed", func(t testing.TB) (storeAt, func()) {
		e := zkserver.StartEnsemble(t)
		return storeAt{Kind: zookeeperStore, Addrs: e.Addrs()}, func() { e.Leader().Kill() }
	}},
	{"SQLite, which has no server to fail", func(t testing.TB) (storeAt, func()) {
		return storeAt{Kind: sqliteStore, Addrs: []string{t.TempDir() + "/cronce.db"}}, nil
	}},
}

// stores measures the cost of each store for a schedule and a lock.
func stores(ctx context.Context, env *Env) (rows []Row, err error) {
	for _, k := range keptStores {
		row := Row{What: k.name, Reach: "each tick once, takeover within 1 s of the lease's end", OK: true}
		err := onHost(ctx, func(t testing.TB) error { return k.measure(ctx, env, t, &row) })
		if err != nil {
			return rows, fmt.Errorf("%s: %w", k.name, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (k *kept) measure(ctx context.Context, env *Env, t testing.TB, row *Row) error {
	at, fail := k.start(t)
	store, err := at.open(ctx, "")
	if err != nil {
		return err
	}
	defer store.close()
	if err := store.prepare(ctx); err != nil {
		return err
	}
	hands, err := handOver(ctx, at, either(env, 200, 30))
	if err != nil {
		return err
	}
	took, err := killSome(ctx, at, 0, atOnce, true)
	if err != nil {
		return err
	}
	env.logf("%s: hand-over p50 %s, p99 %s; takeovers %v", k.name, ms(measure.Percentile(hands, 0.5)), ms(measure.Percentile(hands, 0.99)), took)
	row.also(true, "hand-over p50 %s", ms(measure.Percentile(hands, 0.5)))
	row.also(slices.Max(took) <= time.Second, "takeover median %s, longest %s", ms(measure.Median(took)), ms(slices.Max(took)))
	return k.schedule(ctx, env, at, fail, row)
}

// handOver returns how long after a release the other of two clients, which waits, holds the key.
func handOver(ctx context.Context, at storeAt, rounds int) (took []time.Duration, err error) {
	var lockers [2]*lock.Locker
	for i := range lockers {
		store, err := at.open(ctx, "")
		if err != nil {
			return nil, err
		}
		defer store.close()
		lockers[i] = lock.New(store.driver, "")
	}
	type taken struct {
		lease *lock.Lease
		at    time.Time
		err   error
	}
	acquire := func(i int) (t taken) {
		t.lease, t.err = lockers[i%2].Acquire(ctx, "key", lock.Options{})
		t.at = time.Now()
		return t
	}
	held := acquire(0)
	for i := range rounds {
		if held.err != nil {
			return nil, held.err
		}
		got := make(chan taken, 1)
		go func() { got <- acquire(i + 1) }()
		measure.Pause(ctx, 50*time.Millisecond) // until the other client is in the queue
		released := time.Now()
		err := held.lease.Release(ctx)
		held = <-got
		if err != nil {
			return nil, err
		}
		took = append(took, held.at.Sub(released))
	}
	slices.Sort(took)
	return took, errors.Join(held.err, held.lease.Release(ctx))
}

// leaseEnd returns the time at which the run of a started tick ends, unless it is renewed.
func leaseEnd(ctx context.Context, at storeAt, namespace string, s started) (time.Time, error) {
	store, err := at.open(ctx, namespace)
	if err != nil {
		return time.Time{}, err
	}
	defer store.close()
	found := store.driver.ReadSeries(ctx, []string{s.Job})[0]
	i := slices.IndexFunc(found.Runs, func(r series.Run) bool { return r.Fence == s.Fence })
	if found.Err != nil || i < 0 {
		return time.Time{}, fmt.Errorf("run of fence %d in %+v: %w", s.Fence, found, errors.Join(found.Err, errors.New("not found")))
	}
	return time.UnixMilli(found.Runs[i].Until), nil
}

// schedule lets three nodes run jobs each second, and breaks the server after a while.
func (k *kept) schedule(ctx context.Context, env *Env, at storeAt, fail func(), row *Row) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runs := make(chan started, 10_000)
	for i := range storeNodes {
		cmd, err := startNode(ctx, nodeArgs{at, "schedule", i, storeJobs}, runs)
		if err != nil {
			return err
		}
		defer end(cmd)
	}
	measure.Pause(ctx, steady+3*time.Second) // between two beats, which come every 10 s
	from := time.Now().Add(time.Second).Truncate(time.Second)
	until := from.Add(either(env, 20*time.Second, 5*time.Second))
	measure.Pause(ctx, time.Until(until.Add(before)))
	seen := drain(nil, runs)
	late, sent := quiet(seen, from, until)
	counted := ticked(seen, from, until)
	row.also(counted.once(), "starts late p50 %s, p99 %s, %.1f requests per second and node, %v",
		ms(measure.Percentile(late, 0.5)), ms(measure.Percentile(late, 0.99)), sent, counted)
	if fail != nil {
		failed := time.Now()
		fail()
		down := time.Since(failed)
		last := time.Now().Add(afterwards).Truncate(time.Second)
		measure.Pause(ctx, time.Until(last.Add(2*lag)))
		seen = drain(seen, runs)
		late, _ := quiet(seen, until, last)
		counted := ticked(seen, until, last)
		row.also(counted.once(), "after the failure (back after %s) no start for %s, starts late at most %s, %v",
			ms(down), ms(standstill(seen, failed)), ms(measure.Percentile(late, 1)), counted)
	}
	env.logf("%s: %s", k.name, row.Measured)
	return ctx.Err()
}

// drain appends the starts so far.
func drain(seen []started, runs <-chan started) []started {
	for len(runs) > 0 {
		seen = append(seen, <-runs)
	}
	return seen
}

// quiet returns how late the runs of ticks within [from, until) began, in order, and how many
// requests a node sent per second.
func quiet(seen []started, from, until time.Time) (late []time.Duration, sent float64) {
	var first, last [storeNodes]int64
	for _, s := range seen {
		if !s.Tick.Before(from) && s.Tick.Before(until) {
			late = append(late, s.At.Sub(s.Tick))
			last[s.Node] = s.Sent
			if first[s.Node] == 0 {
				first[s.Node] = s.Sent
			}
		}
	}
	for i := range first {
		sent += float64(last[i]-first[i]) / storeNodes / (until.Sub(from).Seconds() - 1)
	}
	slices.Sort(late)
	return late, sent
}

// ticks counts ticks by how often they ran.
type ticks struct{ all, lost, twice int }

func (t ticks) once() bool { return t.lost == 0 && t.twice == 0 }

func (t ticks) String() string {
	return fmt.Sprintf("of %d ticks %d lost, %d twice", t.all, t.lost, t.twice)
}

// ticked counts the ticks of all jobs within [from, until).
func ticked(seen []started, from, until time.Time) (t ticks) {
	ran := map[string]int{}
	for _, s := range seen {
		ran[s.Job+s.Tick.Format(time.RFC3339)]++
	}
	for at := from.UTC(); at.Before(until); at = at.Add(time.Second) {
		for j := range storeJobs {
			t.all++
			switch n := ran["job-"+strconv.Itoa(j)+at.Format(time.RFC3339)]; {
			case n == 0:
				t.lost++
			case n > 1:
				t.twice++
			}
		}
	}
	return t
}

// standstill returns the longest time without a start, from an instant on.
func standstill(seen []started, from time.Time) (longest time.Duration) {
	slices.SortFunc(seen, func(a, b started) int { return a.At.Compare(b.At) })
	last := from
	for _, s := range seen {
		if s.At.After(last) {
			longest, last = max(longest, s.At.Sub(last)), s.At
		}
	}
	return longest
}
