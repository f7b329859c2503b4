package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
)

// The targets relative to the usual recipe.
const (
	cpuShare  = 15.0 // CPU per tick, 50 nodes
	lateShare = 10.0 // lateness, 50 nodes
	nearShare = 2.5  // lateness, 3 nodes
)

// cpu compares the cost and the lateness of a tick with the usual recipe, in turns in one run, and
// measures how evenly the nodes share the work.
func cpu(ctx context.Context, env *Env) ([]Row, error) {
	many, err := versus(ctx, env, 50)
	if err != nil {
		return nil, err
	}
	few, err := versus(ctx, env, 3)
	if err != nil {
		return nil, err
	}
	skewed := steadyCluster(env, contend.Cronce, 3)
	skewed.Skew = 200 * time.Millisecond
	off, err := measureCluster(ctx, env, skewed)
	if err != nil {
		return nil, err
	}
	return append(fifty(many), three(few, off)...), nil
}

// A duel is one cluster run by cronce and by the recipe.
type duel struct{ ours, recipe clusterResult }

type duels []duel

// versus lets cronce and the recipe run in turns.
func versus(ctx context.Context, env *Env, nodes int) (all duels, err error) {
	for range either(env, 3, 1) {
		var d duel
		if d.recipe, err = measureCluster(ctx, env, steadyCluster(env, contend.Recipe, nodes)); err != nil {
			return nil, err
		}
		if d.ours, err = measureCluster(ctx, env, steadyCluster(env, contend.Cronce, nodes)); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// steadyCluster returns a cluster that has run for a while.
func steadyCluster(env *Env, contender string, nodes int) clusterArgs {
	a := clusterOf(contender, nodes, either(env, 20, 6), holds[1])
	a.Warm = steady
	return a
}

// medians returns the medians of one figure over all duels: the figure of cronce, the figure of the
// recipe, and their ratio.
func (all duels) medians(figure func(clusterResult) time.Duration) (ours, recipe time.Duration, times float64) {
	var o, r []time.Duration
	var t []float64
	for _, d := range all {
		o, r = append(o, figure(d.ours)), append(r, figure(d.recipe))
		t = append(t, ratio(figure(d.recipe), figure(d.ours)))
	}
	return measure.Median(o), measure.Median(r), measure.Median(t)
}

// half and most judge the lateness of runs only by the first run of each tick: the repeated runs of
// the recipe start even later.
func half(r clusterResult) time.Duration { return r.First.P50 }
func most(r clusterResult) time.Duration { return r.First.P99 }

func fifty(all duels) []Row {
	work, theirs, share := all.medians(func(r clusterResult) time.Duration { return r.CPU })
	p50, their50, times50 := all.medians(half)
	p99, their99, times99 := all.medians(most)
	return []Row{
		{
			What: "50 nodes × 100 jobs of 5 ms, CPU of the nodes per tick", Reach: "≤ 1/15 of robfig + `SET NX` + `DEL`",
			Measured: fmt.Sprintf("%s, 1/%.1f", ms(work), share), Peer: ms(theirs), OK: share >= cpuShare,
		},
		{
			What: "the same, lateness p50 and p99", Reach: "≤ 1/10",
			Measured: fmt.Sprintf("%s and %s, 1/%.1f and 1/%.1f", ms(p50), ms(p99), times50, times99),
			Peer:     fmt.Sprintf("%s and %s", ms(their50), ms(their99)), OK: min(times50, times99) >= lateShare,
		},
	}
}

func three(all duels, off clusterResult) []Row {
	p50, their50, times := all.medians(half)
	last := all[len(all)-1]
	fair := even(off.Shares)
	for _, d := range all {
		fair = fair && even(d.ours.Shares)
	}
	return []Row{
		{
			What: "3 nodes × 100 jobs of 5 ms, lateness p50", Reach: "≤ 1/2.5 of that recipe",
			Measured: fmt.Sprintf("%s, 1/%.1f", ms(p50), times), Peer: ms(their50), OK: times >= nearShare,
		},
		{
			What: "the same, share of the runs per node; with one clock 200 ms ahead", Reach: "1/3 ± 50 %",
			Measured: fmt.Sprintf("%.2f; %.2f", last.ours.Shares, off.Shares), Peer: fmt.Sprintf("%.2f", last.recipe.Shares), OK: fair,
		},
	}
}

// even reports whether every share is within 1/n ± 50 %.
func even(shares []float64) bool {
	for _, s := range shares {
		if fair := 1 / float64(len(shares)); s < fair/2 || s > fair*1.5 {
			return false
		}
	}
	return len(shares) > 0
}
