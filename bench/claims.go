package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const (
	claimGain  = 2.5 // batches relative to single claims
	claimBatch = 200 // the most that a script takes

	masters     = 3   // of the Cluster
	partitions  = 8   // over which its jobs are spread
	clusterGain = 2.5 // claims of the Cluster relative to the claims of one master that has all slots
)

// claims compares claims in batches with the same claims one by one, each at its best concurrency.
func claims(ctx context.Context, env *Env) ([]Row, error) {
	single := []way{{1, 16}, {1, 64}, {1, 128}}
	batched := []way{{claimBatch, 1}, {claimBatch, 2}, {claimBatch, 4}}
	found := speeds{}
	for range either(env, 5, 1) { // in turns, because the speed of the machine changes
		for _, a := range slices.Concat(single, batched) {
			r, err := measureClaims(ctx, env, claimArgs{Batch: a.batch, Workers: a.workers})
			if err != nil {
				return nil, err
			}
			found[a] = append(found[a], r.PerSecond)
		}
	}
	row := Row{What: "claims from one process, batched, journal included", Reach: "≥ 2.5 × the same one by one at their best concurrency", OK: true}
	gain := ratio(found.best(batched), found.best(single))
	row.also(gain >= claimGain, "%.0f/s, %.1f ×", found.best(batched), gain)
	for _, a := range single {
		row.beside("one by one, %d at a time: %.0f/s", a.workers, measure.Median(found[a]))
	}
	capacity, err := capacities(ctx, env)
	return []Row{row, capacity}, err
}

// capacities compares how many claims three masters of a Cluster carry with the claims of one master that has all slots, and with a server
// without a Cluster. The servers share the processors of one machine here, so it compares the processor time of the busiest server for
// each claim: that server is the first to be full.
func capacities(ctx context.Context, env *Env) (Row, error) {
	row := Row{What: "claims that 3 masters of a Cluster carry, one job set over 8 partitions, by the CPU of the busiest", Reach: "≥ 2.5 × one master", OK: true}
	var gains, single, one, three []float64
	for range either(env, 5, 3) {
		alone, err := measureClaims(ctx, env, claimArgs{Batch: claimBatch, Workers: 4})
		if err != nil {
			return row, err
		}
		master, err := onCluster(ctx, env, 1)
		if err != nil {
			return row, err
		}
		spread, err := onCluster(ctx, env, masters)
		if err != nil {
			return row, err
		}
		env.logf("CPU for a claim: %s of one server, %s of one master, %s of the busiest of %d masters", us(alone.Server), us(master.Server), us(spread.Server), masters)
		gains = append(gains, ratio(master.Server, spread.Server))
		single, one, three = append(single, 1/alone.Server.Seconds()), append(one, 1/master.Server.Seconds()), append(three, 1/spread.Server.Seconds())
	}
	gain := measure.Median(gains)
	row.also(gain >= clusterGain, "%.0f/s, %.2f × by the median of pairs", measure.Median(three), gain)
	row.beside("one master: %.0f/s; a server without a Cluster: %.0f/s", measure.Median(one), measure.Median(single))
	return row, nil
}

// onCluster measures claims on a fresh Cluster with so many masters.
func onCluster(ctx context.Context, env *Env, masters int) (r claimResult, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		a := claimArgs{Batch: partitions * claimBatch, Workers: 4, Partitions: partitions, Cluster: true, Count: either(env, 60_000, 20_000)}
		for _, s := range redisserver.Cluster(t, masters, 0) {
			a.Addrs = append(a.Addrs, s.Addr())
		}
		r, err = claimCase.Run(ctx, a)
		return err
	})
	return r, err
}

// A way has the number of claims in one call, and of concurrent calls.
type way struct{ batch, workers int }

// speeds are the measured claims per second.
type speeds map[way][]float64

// best returns the highest median of some ways of claiming.
func (s speeds) best(all []way) (most float64) {
	for _, a := range all {
		most = max(most, measure.Median(s[a]))
	}
	return most
}

// A claimArgs defines how to claim numbers of as many series.
type claimArgs struct {
	Addrs      []string // of one server, or of the masters of a Cluster
	Cluster    bool
	Partitions int // 0: one
	Count      int
	Batch      int // claims in one call
	Workers    int // concurrent calls
}

// A claimResult is the speed of the claims.
type claimResult struct {
	PerSecond float64
	CPU       time.Duration // of this process, per claim
	Server    time.Duration // CPU of the busiest server, per claim
}

func measureClaims(ctx context.Context, env *Env, a claimArgs) (claimResult, error) {
	r, err := onServer(ctx, func(addr string) (claimResult, error) {
		a.Addrs, a.Count = []string{addr}, either(env, 60_000, 20_000)
		return claimCase.Run(ctx, a)
	})
	if err == nil {
		env.logf("claims in batches of %d, %d at a time: %.0f/s, %s of CPU each", a.Batch, a.Workers, r.PerSecond, us(r.CPU))
	}
	return r, err
}

var claimCase = proc.Define("claims", runClaims)

// runClaims runs in the child.
func runClaims(ctx context.Context, a claimArgs) (r claimResult, err error) {
	o := &redis.UniversalOptions{Addrs: a.Addrs, IsClusterMode: a.Cluster, PoolSize: a.Workers*(a.Partitions+1) + 8}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Partitions: a.Partitions})
	if err != nil {
		return r, err
	}
	cs, err := openSeries(ctx, store, a.Count)
	if err != nil {
		return r, err
	}
	before, err := usages(ctx, a.Addrs)
	if err != nil {
		return r, err
	}
	cpu, began := measure.CPU(), time.Now()
	granted := claimAll(ctx, store, cs, a)
	took := time.Since(began)
	r = claimResult{PerSecond: float64(a.Count) / took.Seconds(), CPU: (measure.CPU() - cpu) / time.Duration(a.Count)}
	after, err := usages(ctx, a.Addrs)
	if err != nil {
		return r, err
	}
	for i := range after {
		r.Server = max(r.Server, (after[i]-before[i])/time.Duration(a.Count))
	}
	if granted != a.Count {
		return r, fmt.Errorf("%d of %d claims were granted", granted, a.Count)
	}
	return r, nil
}

// usages returns the processor time that each server has used.
func usages(ctx context.Context, addrs []string) (all []time.Duration, err error) {
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		u, err := measure.Redis(ctx, client)
		_ = client.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, u.CPU)
	}
	return all, nil
}

// openSeries registers series, as many at a time as a node does, and returns a claim of the next
// number of each series.
func openSeries(ctx context.Context, store *redislock.Driver, n int) ([]series.Claim, error) {
	const together = 1000
	cs := make([]series.Claim, 0, n)
	for len(cs) < n {
		os := make([]series.OpenRequest, min(together, n-len(cs)))
		for i := range os {
			os[i] = series.OpenRequest{Key: fmt.Sprintf("job-%06d", len(cs)+i), Node: "bench", Revision: "r1", Spec: "* * * * * *", Zone: "UTC"}
		}
		for i, s := range series.FrontOf(store).Open(ctx, os) {
			if s.Err != nil {
				return nil, s.Err
			}
			cs = append(cs, claimOf(os[i].Key, s.Mark))
		}
	}
	return cs, nil
}

func claimOf(key string, mark int64) series.Claim {
	return series.Claim{
		Key: key, Owner: "bench-12345678/" + key, Number: mark + 1, After: mark, TTL: lock.DefaultTTL, Deadline: time.Hour,
		Attempts: 3, Latest: mark + time.Hour.Milliseconds(), Revision: "r1",
	}
}

// claimAll sends all claims and returns how many were granted.
func claimAll(ctx context.Context, store *redislock.Driver, cs []series.Claim, a claimArgs) int {
	var next, granted atomic.Int64
	var wg sync.WaitGroup
	for range a.Workers {
		wg.Go(func() {
			for {
				at := int(next.Add(int64(a.Batch))) - a.Batch
				if at >= len(cs) {
					return
				}
				for _, answer := range series.FrontOf(store).Claim(ctx, cs[at:min(at+a.Batch, len(cs))]) {
					if answer.Kind == series.KindGranted {
						granted.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	return int(granted.Load())
}
