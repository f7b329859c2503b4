package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ops"
)

// laneWidth is the width of a lane in its own units.
const laneWidth = 1000

// A bar is a run in a lane, or a tick without a run.
type bar struct {
	X, W  int
	State ops.State
	Title string
}

// A lane has the runs of a node, or the ticks that no node ran.
type lane struct {
	Name string
	Gone bool
	Bars []bar
}

// The lanes are a diagram of the runs in a period, by node.
type lanes struct {
	Lanes []lane
	Begin time.Time
	End   time.Time
	Span  string
}

// mostBars bounds the bars of a lane: beyond it, neighbours are merged.
const mostBars = 250

// lanesOf draws the runs of jobs within the span before now.
func lanesOf(s *ops.Snapshot, jobs []*ops.Job, span time.Duration) lanes {
	end := s.AsOf
	p := lanes{Begin: end.Add(-span), End: end, Span: strings.TrimSuffix(ops.Short(span), " 0 s")}
	byNode := map[string][]bar{}
	at := func(t time.Time) int { return int(float64(laneWidth) * t.Sub(p.Begin).Seconds() / span.Seconds()) }
	for _, j := range jobs {
		for i := range j.Runs {
			r := &j.Runs[i]
			if r.Recorded.Before(p.Begin) && (r.Ended.IsZero() || r.Ended.Before(p.Begin)) && r.State != ops.Running {
				continue
			}
			from, to, name := r.Granted, r.Ended, r.Node
			if from.IsZero() {
				from, to, name = r.Tick, r.Tick, ""
			}
			if to.IsZero() && r.State != ops.Running { // it was lost, or waits for a node
				to = r.Recorded
			}
			if to.IsZero() {
				to = end
			}
			x := max(0, at(from))
			byNode[name] = append(byNode[name], bar{X: x, W: max(3, min(laneWidth, at(to))-x), State: r.State,
				Title: plain(r.Job) + " " + ops.Clock(r.Tick, end) + " " + verdict(*r)})
		}
	}
	alive := map[string]bool{}
	for _, name := range s.Nodes.Names() {
		alive[name] = true
		if _, drawn := byNode[name]; !drawn {
			byNode[name] = nil
		}
	}
	for name, bars := range byNode {
		p.Lanes = append(p.Lanes, lane{Name: name, Gone: name != "" && !alive[name], Bars: merge(bars)})
	}
	slices.SortFunc(p.Lanes, func(a, b lane) int {
		return cmp.Or(order(a.Name == "", b.Name == ""), order(a.Gone, b.Gone), strings.Compare(a.Name, b.Name))
	})
	const mostLanes = 12
	p.Lanes = p.Lanes[:min(len(p.Lanes), mostLanes)]
	return p
}

// reach returns the length of the period with runs to draw, rounded up, but not above most.
func reach(jobs []*ops.Job, now time.Time, most time.Duration) time.Duration {
	oldest := now
	for _, j := range jobs {
		if n := len(j.Runs); n > 0 && j.Runs[n-1].Tick.Before(oldest) {
			oldest = j.Runs[n-1].Tick
		}
	}
	for _, d := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if now.Sub(oldest) <= d {
			return min(d, most)
		}
	}
	return most
}

// order sorts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// merge sorts bars, and merges neighbours of the same state if there are too many.
func merge(bars []bar) []bar {
	slices.SortFunc(bars, func(a, b bar) int { return cmp.Compare(a.X, b.X) })
	for gap := 1; len(bars) > mostBars; gap *= 2 {
		kept := bars[:0]
		for _, b := range bars {
			if n := len(kept); n > 0 && kept[n-1].State == b.State && b.X <= kept[n-1].X+kept[n-1].W+gap {
				kept[n-1].W, kept[n-1].Title = max(kept[n-1].W, b.X+b.W-kept[n-1].X), "several runs"
				continue
			}
			kept = append(kept, b)
		}
		if bars = kept; gap > laneWidth {
			break
		}
	}
	return bars
}
