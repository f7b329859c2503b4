package chronos_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A nemesis cuts the network.
type nemesis struct {
	*network
	store store
	cuts  []cut
}

// A cut is one fault of the network.
type cut struct {
	kind string
	span
	shaken []span // in which targets may be missed
}

// The kinds of cuts, in turns.
const (
	master = "the master's host"
	halves = "halves"
	one    = "one host"
)

// disturb cuts the network for a while, and returns how long after that schedules may take to be back.
func (x *nemesis) disturb(t *testing.T) time.Duration {
	c := cut{kind: []string{master, halves, one}[len(x.cuts)%3]}
	away := slices.Clone(x.hosts)
	rand.Shuffle(len(away), func(i, j int) { away[i], away[j] = away[j], away[i] })
	switch c.kind {
	case master:
		away = []*host{x.store.master()}
	case halves:
		away = away[:len(away)/2]
	case one:
		away = away[:1]
	}
	back, while := x.store.serves(away)
	c.from = time.Now()
	x.cut(away...)
	<-time.After(between(5, 10))
	x.heal()
	c.to = time.Now()
	c.shaken = []span{{c.from, c.to.Add(back)}}
	if while {
		c.shaken = []span{{c.from, c.from.Add(back)}, {c.to, c.to.Add(back)}}
	}
	x.cuts = append(x.cuts, c)
	var names []string
	for _, h := range away {
		names = append(names, h.name)
	}
	t.Logf("%s: %s away from %s to %s", c.kind, strings.Join(names, " "), stamp(c.from), stamp(c.to))
	return back
}

// between returns a random number of seconds.
func between(least, most int) time.Duration {
	return time.Duration(least)*time.Second + rand.N(time.Duration(most-least)*time.Second)
}

// shaken returns the times in which targets may be missed.
func (x *nemesis) shaken() (all []span) {
	for _, c := range x.cuts {
		all = append(all, c.shaken...)
	}
	return all
}

// back returns how long after each heal all jobs had begun again, the fastest first.
func (x *nemesis) back(plans []plan, runs []run) (all []time.Duration) {
	for _, c := range x.cuts {
		first := map[string]time.Duration{}
		for _, r := range runs {
			after := r.begin.Sub(c.to)
			if known, ok := first[r.job]; after >= 0 && (!ok || after < known) {
				first[r.job] = after
			}
		}
		var slowest time.Duration
		for _, p := range plans {
			slowest = max(slowest, first[p.job])
		}
		all = append(all, slowest)
	}
	slices.Sort(all)
	return all
}
