package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
)

// A clusterArgs defines which cluster to run, and for how long.
type clusterArgs struct {
	contend.Setup
	Hold  time.Duration // the duration of a job
	Ticks int           // counted ticks of each job
	Warm  time.Duration // before the first counted tick; zero: warmUp
}

func (a clusterArgs) String() string {
	text := fmt.Sprintf("%s: %d nodes x %d jobs of %v every %v", a.Contender, a.Nodes, a.Jobs, a.Hold, a.Every)
	if a.Skew != 0 {
		text += fmt.Sprintf(", one clock off by %v", a.Skew)
	}
	return text
}

// A clusterResult is the result of a cluster, and its cost per tick, that is, per instant at which
// all its jobs were due.
type clusterResult struct {
	contend.Tally
	CPU      time.Duration // of all nodes
	RedisCPU time.Duration
	Commands float64       // per node, including commands inside scripts
	Stall    time.Duration // the longest time that the server or the machine stood still
}

func (r clusterResult) String() string {
	return fmt.Sprintf("%d of %d, %d extra (%s), %d missed, most %d, %d early; first starts p50 %s p99 %s, all p50 %s p99 %s; per tick: CPU %s, redis %s, %.1f commands a node; shares %.2f; longest standstill %s",
		r.Runs, r.Expected, r.Extra, percent(r.Extra, r.Expected), r.Missed, r.Most, r.Early, ms(r.First.P50), ms(r.First.P99),
		ms(r.All.P50), ms(r.All.P99), ms(r.CPU), ms(r.RedisCPU), r.Commands, r.Shares[:min(len(r.Shares), 10)], ms(r.Stall))
}

func percent(part, whole int) string { return fmt.Sprintf("%.3g %%", 100*ratio(part, whole)) }

var clusterCase = proc.Define("cluster", runCluster)

// measureCluster runs one cluster on a server and in a process of its own.
func measureCluster(ctx context.Context, env *Env, a clusterArgs) (clusterResult, error) {
	r, err := onServer(ctx, func(addr string) (clusterResult, error) {
		a.Addr = addr
		stalled := measure.Watch(ctx, addr)
		r, err := clusterCase.Run(ctx, a)
		r.Stall = stalled()
		return r, err
	})
	if err == nil {
		env.logf("%v: %v", a, r)
	}
	return r, err
}

const (
	warmUp = 2 * time.Second        // for all nodes to run
	steady = 12 * time.Second       // for all nodes to know each other
	before = 300 * time.Millisecond // costs are counted from this long before a tick
	lag    = 900 * time.Millisecond // after the last counted tick
)

// runCluster runs in the child.
func runCluster(ctx context.Context, a clusterArgs) (clusterResult, error) {
	warm := max(a.Warm, warmUp) + time.Duration(a.Nodes)*(a.Stagger+40*time.Millisecond) + a.Skew.Abs()
	from := time.Now().Add(warm + a.Every).Truncate(a.Every)
	end := from.Add(time.Duration(a.Ticks) * a.Every)
	life, stop := context.WithDeadline(ctx, end.Add(lag+a.Skew.Abs()))
	defer stop()
	board := contend.NewBoard(a.Setup, from, a.Ticks)
	ended := make(chan error, 1)
	go func() {
		ended <- contend.Run(life, a.Setup, func(node, job int, tick time.Time) {
			board.Started(node, job, tick)
			time.Sleep(a.Hold)
		})
	}()
	r, err := costs(life, a, from, end)
	if failed := <-ended; err == nil {
		err = failed
	}
	r.Tally = board.Tally()
	return r, err
}

// costs measures the cost of the ticks between two instants.
func costs(ctx context.Context, a clusterArgs, from, end time.Time) (r clusterResult, err error) {
	client := redis.NewClient(&redis.Options{Addr: a.Addr})
	defer client.Close()
	measure.Pause(ctx, time.Until(from.Add(-before)))
	ours := measure.CPU()
	theirs, err := measure.Redis(ctx, client)
	if err != nil {
		return r, err
	}
	measure.Pause(ctx, time.Until(end.Add(-before)))
	after, err := measure.Redis(ctx, client)
	if err != nil {
		return r, err
	}
	ticks := time.Duration(a.Ticks)
	r.CPU, r.RedisCPU = (measure.CPU()-ours)/ticks, (after.CPU-theirs.CPU)/ticks
	r.Commands = float64(after.Total()-theirs.Total()) / float64(a.Ticks*a.Nodes)
	return r, nil
}
