package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ops"
)

// Bounds of a picture.
const (
	mostLanes   = 12             // nodes that have a lane
	mostTicks   = 5000           // ticks that are drawn one by one
	mostSteps   = 10 * mostTicks // ticks of ranges that are visited if there are more
	mostBytes   = 100 << 10      // of the marks, in the page
	usualPeriod = 150            // ticks that the period of a picture has, if the job allows that
	leastBar    = laneWidth / 80 // the shortest bar that is visible beside its mark
	laneWidth   = 1000           // of a lane, in its own units
	markBytes   = 190            // of a mark, without its job's name
	pathNames   = 2              // how often a mark has its job's name
)

// A laneMark is a tick in a lane, or several ticks that lie too close together.
type laneMark struct {
	X     string // in percent of the lane
	W     string // the length of its run, in percent of the lane; empty: too short to be seen
	State ops.State
	Again bool // the run was taken over, or a shard of it
	Path  string
	Title string
}

// A lane has the runs of a node, or the ticks that no node ran.
type lane struct {
	Name  string // empty: the ticks that did not run
	Gone  bool   // it is not on the list of live nodes, and has no run, as a draining node has
	Ticks int
	Marks []laneMark
}

// The lanes are a picture of the ticks in a period, by node.
type lanes struct {
	Lanes  []lane
	Axis   []axisLabel
	Span   string
	Ticks  int // in the picture; beyond mostTicks: not counted
	Merged bool
	More   int // nodes without a lane
}

// A shownLanes is the picture of all jobs, as a page shows it.
type shownLanes struct {
	Span string
	HTML template.HTML
}

// Of more than manyJobs jobs, the picture is drawn anew each manyRest. All else of the page is new each second.
const (
	manyJobs = 1000
	manyRest = 5 * time.Second
)

// allLanes returns the picture of all jobs, which reaches back to their oldest tick, but not above most.
func (h *Handler) allLanes(of *shared[shownLanes], s *ops.Snapshot, most time.Duration) shownLanes {
	rest := time.Duration(0)
	if len(s.Jobs) > manyJobs {
		rest = manyRest
	}
	return of.lately(s, rest, func(s *ops.Snapshot) shownLanes {
		l := lanesOf(s, s.Jobs, reach(s.Jobs, s.AsOf, most))
		var b bytes.Buffer
		if err := h.pages.templates.ExecuteTemplate(&b, "lanes", l); err != nil {
			return shownLanes{Span: l.Span}
		}
		return shownLanes{l.Span, template.HTML(b.String())} //nolint:gosec // a template made it
	})
}

// lanesOf draws the ticks of jobs within the span before the reading of the snapshot. All lines are on
// the store's clock.
func lanesOf(s *ops.Snapshot, jobs []*ops.Job, span time.Duration) lanes {
	p := newPicture(s.AsOf, span, len(jobs) > 1)
	alive := map[string]bool{}
	live := s.Nodes.Names()
	for i, name := range live {
		alive[name], p.shown[name] = true, i < mostLanes
	}
	runs, ranges := p.gather(jobs, len(live) < mostLanes)
	step := time.Duration(0)
	if p.ticks > mostTicks {
		p.cell, step = 1, span*time.Duration(max(1, ranges))/mostSteps
	}
	names := namesOf(runs, alive)
	for _, name := range names[:min(len(names), mostLanes)] {
		p.shown[name] = true
	}
	for name, shown := range p.shown {
		if in := runs[name]; shown && in != nil {
			for _, of := range *in {
				p.draw(of.job, of.run, step)
			}
		}
	}
	return p.lanes(names, alive)
}

// A jobRun is a run with its job.
type jobRun struct {
	job *ops.Job
	run *ops.Run
}

// gather finds and counts the ticks of the period. It returns the runs by their lanes, with each node that ran one, and the number of
// ranges, whose ticks may be in several lanes: they are under the ticks that did not run. Unless more lanes may be shown, it keeps the
// runs of those alone that are.
func (p *picture) gather(jobs []*ops.Job, more bool) (runs map[string]*[]jobRun, ranges int) {
	runs = map[string]*[]jobRun{"": new([]jobRun)}
	for _, j := range jobs {
		for r := range j.Ticks(p.begin) {
			if !p.shows(r) {
				continue
			}
			p.ticks += j.CountIn(r, p.begin, mostTicks+1)
			node := r.Node
			if r.Granted.IsZero() {
				node = ""
			}
			in := runs[node]
			if in == nil {
				in = new([]jobRun)
				runs[node] = in
			}
			if r.Between != "" {
				in = runs[""]
				ranges++
			}
			if more || r.Between != "" || p.shown[node] {
				*in = append(*in, jobRun{j, r})
			}
		}
	}
	return runs, ranges
}

// lanes returns the picture, whose nodes have the given names. The lane of the ticks that did not run is the last one, and is there
// however many nodes there are.
func (p *picture) lanes(names []string, alive map[string]bool) lanes {
	l := lanes{Axis: axis(p.begin, p.end), Span: strings.TrimSuffix(ops.Short(p.end.Sub(p.begin)), " 0 s"), Ticks: min(p.ticks, mostTicks), More: max(0, len(names)-mostLanes)}
	names = names[:min(len(names), mostLanes)]
	if p.idle {
		names = append(names, "")
	}
	marks := p.marks()
	for _, name := range names {
		of := lane{Name: name}
		for _, m := range marks[name] {
			of.Ticks += m.n
			of.Marks = append(of.Marks, p.mark(&m))
		}
		of.Gone = name != "" && !alive[name] && !slices.ContainsFunc(of.Marks, func(m laneMark) bool { return m.State == ops.Running })
		l.Lanes = append(l.Lanes, of)
	}
	l.Merged = p.cell > 0
	return l
}

// namesOf returns the names of the nodes that live or ran a tick: live nodes first.
func namesOf(runs map[string]*[]jobRun, alive map[string]bool) (names []string) {
	for name := range alive {
		names = append(names, name)
	}
	for name := range runs {
		if name != "" && !alive[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(order(!alive[a], !alive[b]), strings.Compare(a, b))
	})
	return names
}

// mark returns the mark of a spot.
func (p *picture) mark(t *spot) laneMark {
	again := ""
	switch {
	case !t.tick.Equal(t.run.Tick.Time()):
	case t.run.Attempt > 1:
		again = fmt.Sprintf(", attempt %d", t.run.Attempt)
	case t.run.Shards != nil && t.run.Shards.Rerun > 0:
		again = fmt.Sprintf(", %d of its shards again", t.run.Shards.Rerun)
	}
	m := laneMark{X: percent(t.x), State: t.state, Again: again != "", Path: tickPath(t.run.Job, t.tick)}
	if t.w >= leastBar {
		m.W = percent(t.w)
	}
	word := string(t.state)
	if t.tick.Equal(t.run.Tick.Time()) {
		word = verdict(*t.run)
	}
	m.Title = ops.Clock(t.tick, p.end) + " " + plain(word) + again
	if p.named {
		m.Title = plain(t.run.Job) + " " + m.Title
	}
	if t.n > 1 {
		m.Title += ", and others"
	}
	return m
}

// percent formats units of a lane.
func percent(units int) string {
	return fmt.Sprintf("%g%%", float64(units)*100/laneWidth)
}

// reach returns the length of the period to draw: it reaches back to the oldest tick of the jobs, or over
// about usualPeriod ticks of each of them. It is rounded up, but not above most.
func reach(jobs []*ops.Job, now time.Time, most time.Duration) time.Duration {
	oldest := now
	for _, j := range jobs {
		ticks := 0
		for i := range j.Runs {
			r := &j.Runs[i]
			at := r.Tick
			if ticks += j.CountIn(r, time.Time{}, usualPeriod); r.Between != "" && ticks < usualPeriod {
				at = r.From
			}
			if at.Time().Before(oldest) {
				oldest = at.Time()
			}
			if now.Sub(oldest) >= most {
				return most
			}
			if ticks >= usualPeriod {
				break
			}
		}
	}
	for _, d := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
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
