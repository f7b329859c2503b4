package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
)

// refine draws rules of a job that storms leave out.
func (s *simulation) refine(j *scheduler.Job, d *dice) {
	j.Quiet = d.n(4) == 0
	if d.n(2) == 0 {
		j.Retry = scheduler.Retry{Tries: 2 + d.n(4), Wait: 100*time.Millisecond + d.long(4*time.Second), Jitter: float64(d.n(3)) / 4}
		if j.Timeout > 0 {
			j.Retry.Wait = min(j.Retry.Wait, j.Timeout/2)
		}
		j.Retry.For = time.Duration(d.n(3)) * j.Retry.Wait
		j.Retry.Max = time.Duration(d.n(3)) * j.Retry.Wait
	}
	if d.n(3) == 0 && (j.Shards > 0 || j.Broadcast) {
		j.ShardFail = scheduler.FailAll
	}
	if again := j.Takeover == scheduler.TakeoverRerun || j.Interrupted == scheduler.InterruptedRerun; again && !j.Broadcast {
		j.Attempts = []int{0, 2, 3, 5}[d.n(4)]
		if d.n(2) == 0 {
			j.Window = j.Lease + time.Second + d.long(time.Minute)
		}
	}
	if d.n(4) == 0 && j.Misfire != scheduler.MisfireSkip {
		j.Deadline = time.Second + d.long(time.Minute)
	}
}

const (
	recovery = 2 * time.Minute                      // the part of the calm in which nodes may still clear up after the storm
	settled  = 3*time.Minute + 500*time.Millisecond // the rest of the calm
	late     = time.Second + drifted                // how late after its jitter a tick may start in the settled calm
)

// The clock of the store drifts by so much, and each reading of a node follows it by at most so much.
const drifted, slewed = 300 * time.Millisecond, 51 * time.Millisecond

// A calm is the settled end of a simulation.
type calm struct {
	*simulation
	window
	states  map[string]series.Series // of the jobs at its beginning
	sent    count
	follows map[*node]follow // a second ago
	joined  bool             // a node has joined
}

// rest lets the calm pass, and holds its settled part to all that a storm excuses.
func (s *simulation) rest() {
	if s.large {
		s.strand()
	}
	s.delay(s.alive()...)
	s.pass(recovery)
	c := &calm{simulation: s, states: map[string]series.Series{}, follows: map[*node]follow{}}
	c.from = time.Now()
	for _, j := range s.jobs {
		c.states[j.Name] = s.store.ReadSeries(context.Background(), []string{j.Name})[0]
	}
	doubts := c.doubts()
	c.sent = s.counted(c.wait)
	c.to = time.Now()
	for i := range s.jobs {
		c.punctual(&s.jobs[i])
		c.patient(&s.jobs[i])
	}
	if d := c.doubts() - doubts; d > 0 {
		s.t.Errorf("%d requests had no answer in the calm", d)
	}
	c.honest()
	c.quiet()
	c.cheap()
	c.timely()
}

// delay draws how long requests of nodes and replies are on their way from now on.
func (s *simulation) delay(ns ...*node) {
	d := throw(s.seed, 5_000_000)
	most := []time.Duration{0, 2, 40}[d.n(3)] * time.Millisecond
	if most == 0 {
		return
	}
	for _, n := range ns {
		n.wire.spoil(func(string) fault { return fault{there: d.long(most), back: d.long(most)} })
	}
}

// wait lets the settled calm pass. A node joins, and if the seed has a clock that steps, the clock of the store drifts.
func (c *calm) wait() {
	if c.strange == clockStepped {
		c.step([]time.Duration{-drifted, drifted}[c.seed/5%2])
	}
	end := c.from.Add(settled)
	for at := c.from; at.Before(end); at = at.Add(time.Second) {
		c.pass(time.Until(at))
		c.steady()
		if at.Sub(c.from) > time.Minute && end.Sub(at) > series.MemberEvery+time.Second { // until then each node reads the list again
			c.join(at)
		}
	}
	c.pass(time.Until(end))
}

// steady wants the clock of each node to follow the clock of the store by small steps.
func (c *calm) steady() {
	for _, n := range c.alive() {
		now := follow{n.Stats().ClockOffset, c.readings(n)}
		if old, known := c.follows[n]; known && (now.offset-old.offset).Abs() > slewed*time.Duration(1+now.readings-old.readings) {
			c.t.Errorf("the clock of %s changed from %+v to %+v within a second of the calm", n.ID(), old, now)
		}
		c.follows[n] = now
	}
}

// A follow is how far a node's clock is ahead of the store's, after so many readings.
type follow struct {
	offset   time.Duration
	readings uint64
}

// readings returns how often a node has read the clock of the store.
func (c *calm) readings(n *node) (sum uint64) {
	for _, r := range n.Stats().Requests {
		if r.Op == "beat" || r.Op == "clock" {
			sum += r.Count
		}
	}
	return sum
}

// join starts one more node, shortly before a tick that each node runs: the node counts, though others may have read their list of nodes before.
func (c *calm) join(now time.Time) {
	if j := c.everywhere(); !c.joined && c.due(j, c.ticks(j, now)[0]).Sub(now) < 3*time.Second {
		c.joined = true
		n := c.start()
		c.delay(n)
		c.note("%s joins", n.ID())
	}
}

// everywhere returns the job that each node runs.
func (c *calm) everywhere() *scheduler.Job {
	return &c.jobs[slices.IndexFunc(c.jobs, func(j scheduler.Job) bool { return j.Broadcast })]
}

// ticks returns the ticks of a job that are due after an instant of the settled calm, early enough for their start to be in it too, and the
// tick that follows.
func (c *calm) ticks(j *scheduler.Job, from time.Time) (ticks []int64) {
	schedule, err := spec.Parse(j.Spec, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	state, behind := c.states[j.Name], time.Duration(c.clock.Load())
	for t := schedule.NextMilli(max(state.Mark, state.Skip, from.Add(behind).UnixMilli())); ; t = schedule.NextMilli(t) {
		ticks = append(ticks, t)
		if t == 0 || c.due(j, t).After(c.from.Add(settled-2*late)) {
			return ticks
		}
	}
}

// due returns when a tick is due on the clock of the test.
func (c *calm) due(j *scheduler.Job, tick int64) time.Time {
	at := time.UnixMilli(tick)
	if j.Jitter > 0 {
		at = scheduler.DueAt(j, time.UTC, at)
	}
	return at.Add(-time.Duration(c.clock.Load()))
}

// punctual wants each tick that nothing holds up to start when it is due: each shard of it once, and in a broadcast on each node. A tick
// that waits for a run starts when that has ended.
func (c *calm) punctual(j *scheduler.Job) {
	if state := c.states[j.Name]; state.Paused || state.Left > 0 || j.Limit.Of > 0 {
		return
	}
	all := c.ticks(j, c.from)
	for i, t := range all[:len(all)-1] {
		due := c.due(j, t)
		w := window{due.Add(-late / 2), due.Add(late)}
		if freed := c.freed(j, t, due); freed.After(due) {
			w = window{freed.Add(time.Millisecond), freed.Add(2 * late)}
			if w.to.After(c.due(j, all[i+1])) || w.to.After(c.to) || w.to.After(due.Add(cmp.Or(j.Deadline, w.to.Sub(due)))) {
				continue
			}
		}
		if c.hindered(j, t, w) {
			continue
		}
		if begun, want := c.begun(j, t, w.to), c.wanted(j, due); begun < want {
			c.t.Errorf("%s: of the tick %v, due at %v, %d of %d runs had begun at %v", j.Name, at(t), due.UTC(), begun, want, w.to.UTC())
		}
	}
}

// freed returns when the runs ended for which a tick waits; the time when it is due: it waits for none.
func (c *calm) freed(j *scheduler.Job, tick int64, due time.Time) time.Time {
	if j.Overlap != scheduler.OverlapQueue && j.Overlap != scheduler.OverlapReplace || j.Misfire == scheduler.MisfireSkip || j.Broadcast || j.Shards > 0 {
		return due
	}
	for _, r := range c.ran(j.Name) {
		if r.number() != tick && r.began.Before(due) && r.over.After(due) {
			due = r.over
		}
	}
	return due
}

// wanted returns how many runs a tick has.
func (c *calm) wanted(j *scheduler.Job, due time.Time) int {
	if j.Broadcast {
		return c.live(due)
	}
	return max(1, j.Shards)
}

// begun returns how many runs of a tick had begun at an instant, on different nodes or of different shards.
func (c *calm) begun(j *scheduler.Job, tick int64, at time.Time) int {
	places := map[string]bool{}
	for _, r := range c.ran(j.Name) {
		switch {
		case r.number() != tick || r.began.After(at):
		case j.Broadcast:
			places[r.node.ID()] = true
		default:
			places[fmt.Sprint(r.Shard)] = true
		}
	}
	return len(places)
}

// live returns how many nodes a broadcast expects at an instant of the settled calm.
func (c *calm) live(at time.Time) (count int) {
	for _, n := range c.alive() {
		if n.born.Before(at.Add(-late)) {
			count++
		}
	}
	return count
}

// hindered reports whether another run of the job may have held up a tick, or a node had no slot for it.
func (c *calm) hindered(j *scheduler.Job, tick int64, w window) bool {
	busy := map[*node]int{}
	for _, r := range c.ranAny() {
		if r.began.After(w.to) || !r.over.IsZero() && r.over.Before(w.from) {
			continue
		}
		if r.Job == j.Name && r.number() != tick && j.Overlap != scheduler.OverlapAllow {
			return true
		}
		busy[r.node]++
	}
	return slices.ContainsFunc(c.alive(), func(n *node) bool { return c.slots > 0 && busy[n] >= c.slots })
}

// patient wants the tries of each run to keep to the rules of the job.
func (c *calm) patient(j *scheduler.Job) {
	rules := j.Retry
	for _, r := range c.ran(j.Name) {
		if r.tries > max(1, rules.Tries) {
			c.t.Errorf("%s was tried %d times, and the rules are %+v", r.ID, r.tries, rules)
		}
		if r.tries > 1 && rules.For > 0 && r.last.Sub(r.began) > rules.For {
			c.t.Errorf("the last try of %s began %v after the first, and the rules are %+v", r.ID, r.last.Sub(r.began), rules)
		}
		if least := time.Duration(float64(max(rules.Wait, 0)) * (1 - rules.Jitter)); r.tries > 1 && r.pause < least {
			c.t.Errorf("two tries of %s were only %v apart, and the rules are %+v", r.ID, r.pause, rules)
		}
	}
}

// outcomes has the outcomes of functions that end with the cause of their context.
var outcomes = map[error]string{scheduler.ErrTimeout: "timeout", scheduler.ErrReplaced: "replaced", scheduler.ErrCancelled: "cancelled", scheduler.ErrDrained: "interrupted", nil: "ok"}

// honest wants each node to report the outcome of a run as its function saw it. A run whose lease was lost too may be lost.
func (c *calm) honest() {
	ends := map[ledgerKey]string{}
	for _, n := range c.nodes {
		for _, e := range n.observed(scheduler.EventRunFinished) {
			ends[ledgerKey{e.Job, e.Fence}] = e.Outcome
		}
	}
	for _, r := range c.ranAny() {
		end, ended := ends[ledgerKey{r.Job, r.Fence}]
		want, known := outcomes[r.err]
		if ended && known && !r.over.IsZero() && end != want && end != "lost" {
			c.t.Errorf("%s returned %v on %s, and ended as %s", r.ID, r.err, r.node.ID(), end)
		}
	}
}

// doubts counts the requests that the store has not answered.
func (c *calm) doubts() (sum uint64) {
	for _, n := range c.alive() {
		for _, r := range n.Stats().Requests {
			if r.Result == "doubt" {
				sum += r.Count
			}
		}
	}
	return sum
}

// quiet wants no warning in the calm without an excuse.
func (c *calm) quiet() {
	for _, n := range c.alive() {
		for _, l := range n.logs.All() {
			if l.Level >= zapcore.WarnLevel && l.Time.After(c.from) && l.Time.Before(c.to) && !c.excused(n, line{l, l.ContextMap()}) {
				c.t.Errorf("logged in the calm by %s at %v: %s %v", n.ID(), l.Time.UTC(), l.Message, l.ContextMap())
			}
		}
	}
}

// excused reports whether a warning may come in the calm.
func (c *calm) excused(n *node, l line) bool {
	switch l.Message {
	case "run finished", "tick finished", "run panicked", "try failed", "run ignores its context":
		return true // functions fail as drawn
	case "clock offset":
		return n.born.After(c.from) || c.strange == clockStepped // the node that joins has not yet seen the clock; the drift may take what steps have left over the limit
	case "mark ahead": // the first step of the drift is back, and may follow a claim
		return c.strange == clockStepped && l.Time.Before(c.from.Add(drifted+time.Second))
	case "specs differ": // nor the former specs; the nodes of a large fleet draw lots for each turn to read the specs of others
		return n.born.After(c.from) || c.large
	case "tick missed":
		return l.keys["reason"] != series.ReasonLost || c.ignored(l) // punctual finds those that nothing held up
	case "lease lost":
		return c.ignored(l)
	}
	return false
}

// ignored reports whether a line is about a run whose function ignored that it was to end: its lease is then given up.
func (c *calm) ignored(l line) bool {
	return slices.ContainsFunc(c.ran(fmt.Sprint(l.keys["job"])), func(r *run) bool {
		return r.Tick.Format("2006-01-02T15:04:05.000Z") == l.keys["tick"] && r.cause != nil && !errors.Is(r.cause, lock.ErrLost)
	})
}

// cheap bounds the requests of the calm: each node asks for each tick, looks at the runs that hold up other ticks when their leases end, and
// reads each job on its rota.
func (c *calm) cheap() {
	if c.limited() != nil { // other nodes look at each run that waits for a place, for minutes
		return
	}
	looks := 0.0
	for i := range c.jobs {
		looks += float64(len(c.ticks(&c.jobs[i], c.from))) + c.looks(&c.jobs[i])
	}
	nodes := float64(len(c.alive()))
	opens := nodes * float64(len(c.jobs)) * (2 + settled.Seconds()/6)
	if sent := c.sent; float64(sent.claims) > 2.5*nodes*looks || c.slots < 0 && float64(sent.peeks) > 4*nodes*looks || float64(sent.opens) > opens {
		c.t.Errorf("%v nodes sent %+v in the calm, and their ticks and runs need about %.0f each, and %.0f openings of all", nodes, sent, looks, opens)
	}
}

// looks returns how often a node may look at the runs of a job.
func (c *calm) looks(j *scheduler.Job) (count float64) {
	every := j.Lease
	if j.Shards > 0 || j.Broadcast {
		every = time.Second
	}
	for _, r := range c.ran(j.Name) {
		from, to := r.began, r.over
		if from.Before(c.from) {
			from = c.from
		}
		if to.IsZero() || to.After(c.to) {
			to = c.to
		}
		count += max(0, to.Sub(from).Seconds()/every.Seconds())
	}
	return count
}

// clockError is how far a node may be off the clock of the store in the calm.
const clockError = 50 * time.Millisecond

// timely wants each node to know the clock of the store, and to claim nothing too early.
func (c *calm) timely() {
	if c.sent.early > 0 && c.strange != clockStepped {
		c.t.Errorf("%d claims were sent in the calm before the store grants them", c.sent.early)
	}
	for _, n := range c.alive() {
		if off := n.Stats().ClockOffset + time.Duration(c.clock.Load()); off.Abs() > clockError {
			c.t.Errorf("%s is off the clock of the store by %v", n.ID(), off)
		}
	}
}
