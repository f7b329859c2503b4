package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
)

// A rowSet holds the results of clusters by their arguments.
type rowSet map[clusterArgs]clusterResult

// cluster counts how often each tick ran, with correct clocks and with one wrong clock.
func cluster(ctx context.Context, env *Env) ([]Row, error) {
	right, err := sameClocks(ctx, env)
	if err != nil {
		return nil, err
	}
	wrong, err := oneClockOff(ctx, env)
	return []Row{
		{
			What:  fmt.Sprintf("%s nodes × 100 jobs × 1 s × %d ticks, jobs of 0 and 5 ms", list(env.nodes()), env.ticks()),
			Reach: "0 twice, 0 missed", Measured: right.counts(contend.Cronce), OK: right.once(contend.Cronce),
			Peer: right.peers(func(a clusterArgs) string { return fmt.Sprintf("%d nodes", a.Nodes) }),
		},
		{
			What:  "the same with one node's clock off by " + list(env.skews()),
			Reach: "0 twice, 0 missed, 0 early", Measured: wrong.counts(contend.Cronce), OK: wrong.once(contend.Cronce),
			Peer: wrong.peers(func(a clusterArgs) string { return a.Skew.String() }),
		},
	}, err
}

func (e *Env) nodes() []int { return either(e, []int{3, 10, 50}, []int{3, 10}) }

func (e *Env) ticks() int {
	if e.Ticks > 0 {
		return e.Ticks
	}
	return either(e, 60, 6)
}

func (e *Env) skews() []time.Duration {
	const small, some, big, far = 10 * time.Millisecond, 200 * time.Millisecond, time.Second, 30 * time.Second
	return either(e, []time.Duration{small, some, big, -big, far, -far}, []time.Duration{small, some, big, -big})
}

// clusterOf returns the usual cluster: 100 jobs, due every second.
func clusterOf(contender string, nodes, ticks int, hold time.Duration) clusterArgs {
	return clusterArgs{
		Setup: contend.Setup{Contender: contender, Nodes: nodes, Jobs: 100, Every: time.Second, Aligned: true},
		Hold:  hold, Ticks: ticks,
	}
}

// holds are the durations of jobs.
var holds = []time.Duration{0, 5 * time.Millisecond}

// sameClocks runs the clusters one after the other: a busy machine would cause more duplicates.
func sameClocks(ctx context.Context, env *Env) (rowSet, error) {
	set := rowSet{}
	for _, nodes := range env.nodes() {
		for _, hold := range holds {
			for _, contender := range append([]string{contend.Cronce}, contend.Peers...) {
				a := clusterOf(contender, nodes, env.ticks(), hold)
				r, err := measureCluster(ctx, env, a)
				if err != nil {
					return set, err
				}
				set[a] = r
			}
		}
	}
	return set, nil
}

// oneClockOff runs the clusters with all errors of one clock concurrently: only counts matter.
func oneClockOff(ctx context.Context, env *Env) (rowSet, error) {
	set := rowSet{}
	var errs []error
	for _, nodes := range env.nodes() {
		for _, hold := range holds {
			errs = append(errs, set.fill(ctx, env, skewed(env, contend.Cronce, nodes, hold)))
		}
	}
	for _, peer := range contend.Peers {
		errs = append(errs, set.fill(ctx, env, skewed(env, peer, 3, holds[1])))
	}
	return set, errors.Join(errs...)
}

func skewed(env *Env, contender string, nodes int, hold time.Duration) (all []clusterArgs) {
	for _, skew := range env.skews() {
		a := clusterOf(contender, nodes, env.ticks(), hold)
		a.Skew = skew
		all = append(all, a)
	}
	return all
}

// fill runs clusters concurrently.
func (set rowSet) fill(ctx context.Context, env *Env, all []clusterArgs) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	for _, a := range all {
		wg.Go(func() {
			r, err := measureCluster(ctx, env, a)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			set[a] = r
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sum adds up the clusters of a contender.
func (set rowSet) sum(contender string) (t contend.Tally) {
	for a, r := range set {
		if a.Contender == contender {
			t.Expected, t.Extra, t.Missed, t.Early = t.Expected+r.Expected, t.Extra+r.Extra, t.Missed+r.Missed, t.Early+r.Early
		}
	}
	return t
}

func (set rowSet) once(contender string) bool {
	t := set.sum(contender)
	return t.Expected > 0 && t.Extra == 0 && t.Missed == 0 && t.Early == 0
}

func (set rowSet) counts(contender string) string {
	t := set.sum(contender)
	text := fmt.Sprintf("%d twice, %d missed, %d early of %d ticks", t.Extra, t.Missed, t.Early, t.Expected)
	for a, r := range set {
		if a.Contender == contender && r.Missed > 0 {
			text += fmt.Sprintf("; %d missed at %d nodes, where server or machine stood still for %s", r.Missed, a.Nodes, ms(r.Stall))
		}
	}
	return text
}

// peers reports, for each peer, how many ticks of its 5 ms jobs ran again or never.
func (set rowSet) peers(name func(clusterArgs) string) string {
	var all []string
	for _, peer := range contend.Peers {
		var parts []string
		for _, a := range set.sorted(peer, holds[1]) {
			r := set[a]
			part := fmt.Sprintf("%s twice at %s", percent(r.Extra, r.Expected), name(a))
			if r.Missed > 0 {
				part += fmt.Sprintf(" (%s missed)", percent(r.Missed, r.Expected))
			}
			parts = append(parts, part)
		}
		all = append(all, peer+": "+strings.Join(parts, ", "))
	}
	return strings.Join(all, "; ")
}

func list[T any](values []T) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, ", ")
}

// sorted returns the arguments of a contender's clusters with jobs of one duration, sorted by nodes
// and skew.
func (set rowSet) sorted(contender string, hold time.Duration) []clusterArgs {
	var all []clusterArgs
	for a := range set {
		if a.Contender == contender && a.Hold == hold {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b clusterArgs) int {
		return cmp.Or(cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Skew.Abs(), b.Skew.Abs()), cmp.Compare(b.Skew, a.Skew))
	})
	return all
}
