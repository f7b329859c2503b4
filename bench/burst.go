package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/single"
)

// burstGrowth is the largest ratio of the last job's start to the last start of bare goroutines.
const burstGrowth = 3.0

// burst measures 100,000 jobs that are due at once.
func burst(ctx context.Context, env *Env) ([]Row, error) {
	row := Row{
		What:  "100,000 jobs due at once, store in memory, no-op jobs and logger, last start against spawning as many goroutines",
		Reach: "none dropped, ≤ 3 ×", OK: true,
	}
	for _, scheduler := range []string{single.Cronce, single.Robfig, single.Netresearch} {
		setup := single.Setup{Scheduler: scheduler, Jobs: 100_000, Period: 10 * time.Second, AtOnce: true}
		r, err := burstCase.Run(ctx, burstArgs{setup, either(env, 9, 3)})
		if err != nil {
			return nil, err
		}
		env.logf("%s: last start %v, spawned alone %v; %d dropped", scheduler, r.Last, r.Spawn, r.Dropped)
		last, spawned := ms(measure.Median(r.Last)), ms(measure.Median(r.Spawn))
		if scheduler == single.Cronce {
			row.also(r.Dropped == 0 && r.growth() <= burstGrowth, "%d dropped, %s against %s, %.1f ×", r.Dropped, last, spawned, r.growth())
		} else {
			row.beside("%s without a store %s, %.1f ×, %d dropped", scheduler, last, r.growth(), r.Dropped)
		}
	}
	return []Row{row}, nil
}

// A burstArgs defines how often all jobs are due at once.
type burstArgs struct {
	single.Setup
	Rounds int
}

// A burstResult holds, for each round, how long after its instant the last job started, and how
// long after the first of as many goroutines the last one started.
type burstResult struct {
	Last, Spawn []time.Duration
	Dropped     int // jobs that did not run, in all rounds
}

// growth returns the median ratio of the two over all rounds.
func (r burstResult) growth() float64 {
	rounds := make([]float64, len(r.Last))
	for i := range rounds {
		rounds[i] = ratio(r.Last[i], r.Spawn[i])
	}
	return measure.Median(rounds)
}

var burstCase = proc.Define("burst", runBurst)

// runBurst runs in the child.
func runBurst(ctx context.Context, a burstArgs) (r burstResult, err error) {
	var last stamp
	s, err := single.New(a.Setup, settle(a.Jobs), func(time.Time) { last.hit() })
	if err != nil {
		return r, err
	}
	life, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(life) }()
	for round := range a.Rounds {
		due := s.Begins.Add(time.Duration(round) * a.Period)
		measure.Pause(ctx, time.Until(due.Add(-before)))
		last.reset()
		measure.Pause(ctx, time.Until(due.Add(a.Period/2)))
		r.Last = append(r.Last, last.at().Sub(due))
		r.Dropped += a.Jobs - int(last.n.Load())
		r.Spawn = append(r.Spawn, spawn(a.Jobs))
	}
	stop()
	return r, errors.Join(ctx.Err(), <-ended)
}

// spawn starts goroutines that do the work of the jobs, and returns the time until the last one has
// started.
func spawn(n int) time.Duration {
	var last stamp
	var wg sync.WaitGroup
	began := time.Now()
	last.reset()
	wg.Add(n)
	for range n {
		go func() {
			last.hit()
			wg.Done()
		}()
	}
	wg.Wait()
	return last.at().Sub(began)
}

// A stamp records when an event happened last, and how often it happened.
type stamp struct {
	since time.Time
	n     atomic.Int64
	last  atomic.Int64
}

func (s *stamp) reset() {
	s.since = time.Now()
	s.n.Store(0)
	s.last.Store(0)
}

func (s *stamp) hit() {
	s.n.Add(1)
	s.last.Store(int64(time.Since(s.since)))
}

func (s *stamp) at() time.Time { return s.since.Add(time.Duration(s.last.Load())) }
