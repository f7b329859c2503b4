package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ops"
)

// A picture collects the ticks of a period. Ticks in the same cell of a lane are one spot, which shows the
// worst of them.
type picture struct {
	begin, end time.Time
	named      bool // several jobs are drawn
	ticks      int
	cell       int             // the width of a cell; 0: each tick has its own
	idle       bool            // a tick did not run
	shown      map[string]bool // the lanes
	cells      map[cell]spot
}

// A cell is a place in a lane.
type cell struct {
	lane   string
	x      int
	number int // makes the cells of ticks different that are not merged
}

// A spot is the content of a cell.
type spot struct {
	run   *ops.Run
	tick  time.Time
	state ops.State
	x, w  int
	n     int // ticks
}

func newPicture(end time.Time, span time.Duration, named bool) *picture {
	return &picture{begin: end.Add(-span), end: end, named: named, shown: map[string]bool{"": true}, cells: map[cell]spot{}}
}

// shows reports whether a run, or a tick of a range, is in the period.
func (p *picture) shows(r *ops.Run) bool {
	return !r.Tick.Time().Before(p.begin) || r.State == ops.Running || r.Ended.Time().After(p.begin)
}

// draw adds the ticks of a run.
func (p *picture) draw(j *ops.Job, r *ops.Run, step time.Duration) {
	for tick, state := range j.TicksIn(r, p.begin, step) {
		if !tick.Equal(r.Tick.Time()) {
			p.put("", spot{run: r, tick: tick, state: state, x: p.at(tick), n: 1})
		}
	}
	if r.Granted.IsZero() {
		if !r.Tick.Time().Before(p.begin) {
			p.put("", spot{run: r, tick: r.Tick.Time(), state: r.State, x: p.at(r.Tick.Time()), n: 1})
		}
		return
	}
	if !p.shown[r.Node] {
		return
	}
	to := r.Ended
	if to.IsZero() {
		to = r.Recorded // it was lost, or waits for a node
		if r.State == ops.Running {
			to = ops.InstantOf(p.end)
		}
	}
	x := p.at(r.Granted.Time())
	p.put(r.Node, spot{run: r, tick: r.Tick.Time(), state: markOfRun(r), x: x, w: max(0, p.at(to.Time())-x), n: 1})
}

// at returns the place of an instant in a lane, within its ends.
func (p *picture) at(t time.Time) int {
	if t.After(p.end) {
		return laneWidth
	}
	return int(laneWidth * max(0, t.Sub(p.begin)) / p.end.Sub(p.begin))
}

// put adds a spot to a lane, or merges it with the one in its cell.
func (p *picture) put(lane string, s spot) {
	p.idle = p.idle || lane == ""
	at := cell{lane: lane, x: s.x, number: len(p.cells)}
	if p.cell > 0 {
		at.x, at.number = s.x/p.cell, 0
	}
	if old, ok := p.cells[at]; ok {
		end := max(old.x+old.w, s.x+s.w)
		n := old.n + s.n
		if worse(&old, &s) > 0 {
			s = old
		}
		s.n, s.w = n, end-s.x
	}
	p.cells[at] = s
}

// coarsen doubles the width of the cells.
func (p *picture) coarsen() {
	fine := p.cells
	p.cells, p.cell = make(map[cell]spot, len(fine)), max(1, 2*p.cell)
	for at, s := range fine {
		p.put(at.lane, s)
	}
}

// marks returns the spots of the lanes, in the order in which they are drawn: the worst of those at one
// place comes last. It merges spots until their marks do not need more bytes than mostBytes.
func (p *picture) marks() map[string][]spot {
	for p.cell < laneWidth && p.bytes() > mostBytes {
		p.coarsen()
	}
	of := map[string][]spot{}
	for at, s := range p.cells {
		of[at.lane] = append(of[at.lane], s)
	}
	for _, all := range of {
		slices.SortFunc(all, func(a, b spot) int { return cmp.Or(cmp.Compare(a.x, b.x), worse(&a, &b)) })
	}
	return of
}

// bytes returns about how many bytes the marks need.
func (p *picture) bytes() (n int) {
	for _, s := range p.cells {
		n += markBytes + pathNames*len(s.run.Job)
	}
	return n
}

// worse orders spots: the worst last, and else the newest.
func worse(a, b *spot) int {
	return cmp.Or(cmp.Compare(slices.Index(tickStates, a.state), slices.Index(tickStates, b.state)), a.tick.Compare(b.tick), strings.Compare(a.run.Job, b.run.Job))
}

// An axisLabel is an instant on the axis of time.
type axisLabel struct {
	X, Text string
	Between bool // it is left out if there is little room
}

// axisSteps are the distances between the labels of an axis.
var axisSteps = []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// axis returns labels at round instants of UTC. There are about four to eight. A label at midnight is the
// day.
func axis(begin, end time.Time) (labels []axisLabel) {
	const most = 8
	span := end.Sub(begin)
	step := axisSteps[len(axisSteps)-1]
	for _, d := range axisSteps {
		if span/d <= most {
			step = d
			break
		}
	}
	layout := "15:04"
	if step < time.Minute {
		layout = time.TimeOnly
	}
	for at := begin.UTC().Truncate(step).Add(step); at.Before(end); at = at.Add(step) {
		text := at.Format(layout)
		if at.Equal(at.Truncate(24 * time.Hour)) {
			text = at.Format(time.DateOnly)
		}
		between := at.Unix()/int64(step.Seconds())%2 != 0
		labels = append(labels, axisLabel{X: percent(int(laneWidth * at.Sub(begin) / span)), Text: text, Between: between})
	}
	return labels
}
