package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/rivals"
	"github.com/cronce/cronce/bench/internal/wire"
)

// The limits of a lock's cost: its ratio to the bare scripts with a fence, and the number of its
// commands.
const (
	lockCost     = 1.1
	lockCommands = 2
)

// locks compares an uncontended acquire and release with the bare scripts, the bare commands and other libraries.
func locks(ctx context.Context, env *Env) ([]Row, error) {
	found, err := onServer(ctx, func(addr string) (map[string]lockResult, error) {
		return lockCase.Run(ctx, lockArgs{addr, either(env, 100, 20), 200})
	})
	if err != nil {
		return nil, err
	}
	for name, r := range found {
		env.logf("%s: %+v", name, r)
	}
	ours, fenced, raw := found[rivals.Cronce], found[rivals.Fenced], found[rivals.Raw]
	half, mean := ours.over(fenced)
	row := Row{
		What: "uncontended plain acquire + release, p50 and mean", Reach: "≤ 1.1 × two bare scripts of three commands each, 2 client commands",
		Measured: fmt.Sprintf("%s and %s, %.2f × and %.2f ×, %.1f commands", us(ours.P50), us(ours.Mean), half, mean, ours.Commands),
		Peer:     fmt.Sprintf("bare scripts %s and %s; `SET NX PX` and EVALSHA %s and %s", us(fenced.P50), us(fenced.Mean), us(raw.P50), us(raw.Mean)),
		OK:       half <= lockCost && mean <= lockCost && ours.Commands <= lockCommands,
	}
	for _, name := range append([]string{rivals.Cronce, rivals.Fenced}, rivals.Libraries[1:]...) {
		half, mean := found[name].over(raw)
		row.beside("%s %.2f × and %.2f ×", name, half, mean)
	}
	return []Row{row}, nil
}

// A lockArgs defines how often to lock: in blocks, with the contenders in turns.
type lockArgs struct {
	Addr   string
	Blocks int
	Pairs  int // in a block
}

// A lockResult is the cost of an acquire and release.
type lockResult struct {
	P50, P99, Mean time.Duration
	Commands       float64 // sent by the client for a pair; 0: they were not counted
}

// over compares r with the result of another contender.
func (r lockResult) over(other lockResult) (p50, mean float64) {
	return ratio(r.P50, other.P50), ratio(r.Mean, other.Mean)
}

var lockCase = proc.Define("lock", runLocks)

// runLocks runs in the child.
func runLocks(ctx context.Context, a lockArgs) (map[string]lockResult, error) {
	all, took, warm := map[string]*rivals.Lock{}, map[string][]time.Duration{}, map[string]int{}
	for _, name := range append([]string{rivals.Raw, rivals.Fenced}, rivals.Libraries...) {
		l, err := rivals.New(name, a.Addr)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		all[name] = l
	}
	for block := range a.Blocks + 1 { // the first one only warms up
		for name, l := range all {
			times, err := lockBlock(ctx, l, a.Pairs)
			if err != nil {
				return nil, err
			}
			if block == 0 {
				warm[name] = sent(l)
				continue
			}
			took[name] = append(took[name], times...)
		}
	}
	found := map[string]lockResult{}
	for name, l := range all {
		times := slices.Sorted(slices.Values(took[name]))
		found[name] = lockResult{
			measure.Percentile(times, 0.5), measure.Percentile(times, 0.99), measure.Mean(times),
			float64(sent(l)-warm[name]) / float64(len(times)),
		}
	}
	return found, nil
}

// sent returns how many commands the client of a lock has sent, or 0 if its commands are not
// counted.
func sent(l *rivals.Lock) int {
	if l.Sent == nil {
		return 0
	}
	return l.Sent.Sent()[wire.Other]
}

// lockBlock returns the time of each pair of a block.
func lockBlock(ctx context.Context, l *rivals.Lock, pairs int) ([]time.Duration, error) {
	times := make([]time.Duration, pairs)
	for i := range times {
		key := fmt.Sprintf("item-%03d", i)
		began := time.Now()
		if err := pair(ctx, l, key); err != nil {
			return nil, err
		}
		times[i] = time.Since(began)
	}
	return times, nil
}
