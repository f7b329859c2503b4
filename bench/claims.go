package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const (
	claimGain  = 2.5 // batches relative to single claims
	claimBatch = 200 // the most that a script takes
)

// claims compares claims in batches with the same claims one by one, each at its best concurrency.
func claims(ctx context.Context, env *Env) ([]Row, error) {
	single := []claimArgs{{Batch: 1, Workers: 16}, {Batch: 1, Workers: 64}, {Batch: 1, Workers: 128}}
	batched := []claimArgs{{Batch: claimBatch, Workers: 1}, {Batch: claimBatch, Workers: 2}, {Batch: claimBatch, Workers: 4}}
	found := speeds{}
	for range either(env, 5, 1) { // in turns, because the speed of the machine changes
		for _, a := range slices.Concat(single, batched) {
			r, err := measureClaims(ctx, env, a)
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
		row.beside("one by one, %d at a time: %.0f/s", a.Workers, measure.Median(found[a]))
	}
	return []Row{row}, nil
}

// speeds are the measured claims per second.
type speeds map[claimArgs][]float64

// best returns the highest median of some ways of claiming.
func (s speeds) best(all []claimArgs) (most float64) {
	for _, a := range all {
		most = max(most, measure.Median(s[a]))
	}
	return most
}

// A claimArgs defines how to claim numbers of as many series.
type claimArgs struct {
	Addr    string
	Count   int
	Batch   int // claims in one call
	Workers int // concurrent calls
}

// A claimResult is the speed of the claims.
type claimResult struct {
	PerSecond float64
	CPU       time.Duration // of this process, per claim
}

func measureClaims(ctx context.Context, env *Env, a claimArgs) (claimResult, error) {
	r, err := onServer(ctx, func(addr string) (claimResult, error) {
		a.Addr, a.Count = addr, either(env, 60_000, 20_000)
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
	o := &redis.UniversalOptions{Addrs: []string{a.Addr}, PoolSize: a.Workers + 8}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		return r, err
	}
	cs, err := openSeries(ctx, store, a.Count)
	if err != nil {
		return r, err
	}
	cpu, began := measure.CPU(), time.Now()
	granted := claimAll(ctx, store, cs, a)
	took := time.Since(began)
	r = claimResult{float64(a.Count) / took.Seconds(), (measure.CPU() - cpu) / time.Duration(a.Count)}
	if granted != a.Count {
		return r, fmt.Errorf("%d of %d claims were granted", granted, a.Count)
	}
	return r, nil
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
