package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// A strangeness is a change by a test that removes a part of the promise, or the means to check it.
type strangeness uint8

const (
	nothingStrange strangeness = iota
	clockStepped               // leases end at other times on the store's clock than here
	storeForgot                // and its journals are lost
)

// check compares the ledger and the journals with the promise.
func (c *world) check() {
	c.t.Helper()
	c.checkLogs()
	c.checkEvents()
	if !c.silent {
		c.checkPairs()
	}
	for _, j := range c.jobs {
		c.checkRuns(&j)
		c.checkFences(j.Name)
		if c.strange < clockStepped {
			c.checkTrust(&j)
		}
		if !c.mixed && c.strange != storeForgot {
			c.checkJournal(&j)
		}
	}
}

// checkRuns checks invariant I1: no attempt of a tick starts twice, a tick that may not run again
// starts once, and none starts before the store's clock has reached its tick (I7).
func (c *world) checkRuns(j *scheduler.Job) {
	c.t.Helper()
	type key struct {
		id      string
		attempt int
	}
	started := map[key]*run{}
	for _, r := range c.ran(j.Name) {
		k := key{r.ID, r.Attempt}
		if first := started[k]; first != nil && !c.forgotten(first) {
			c.t.Errorf("%s started attempt %d of %v on %s with fence %d and on %s with fence %d", j.Name, r.Attempt, r.Tick, first.node.ID(), first.Fence, r.node.ID(), r.Fence)
		}
		started[k] = r
		if r.Attempt > 1 && j.Takeover == scheduler.TakeoverLost && j.Interrupted == scheduler.InterruptedLost {
			c.t.Errorf("%s started attempt %d of %v, and may not run again", j.Name, r.Attempt, r.Tick)
		}
		due := r.Tick
		switch {
		case c.strange == clockStepped:
			due = due.Add(-series.Tolerance * time.Millisecond) // the clock may step back while a granted run waits for its tick
		case j.Jitter > 0 && !c.mixed && c.strange < clockStepped:
			due = scheduler.DueAt(j, time.UTC, r.Tick).Add(-scheduler.MaxLead) // when a claim is sent, and may be granted
		}
		if r.shown.Before(due) && !r.Manual() { // that of a manual run is a number, not an instant
			c.t.Errorf("%s started %v, due at %v with its jitter, at %v, when the store's clock had not gone beyond %v", j.Name, r.Tick, due, r.began, r.shown)
		}
	}
}

// forgotten reports whether the store has forgotten the grant of a run. Its reply may be on the way until after that: the fence is the
// instant of the grant.
func (c *world) forgotten(r *run) bool {
	return slices.ContainsFunc(c.lost, func(w window) bool { return w.has(r.began) || w.has(time.UnixMicro(r.Fence)) })
}

// number returns the number of a run in the store: its tick, but in a backfill.
func (r *run) number() int64 {
	_, text, _ := strings.Cut(r.ID, "@")
	text, _, _ = strings.Cut(text, "#")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at.UnixMilli()
}

// checkFences checks invariant I2: each grant has a higher fence than the earlier ones.
func (c *world) checkFences(job string) {
	c.t.Helper()
	last, all := grant{}, c.given(job)
	for _, g := range all {
		if g.owner == last.owner {
			continue
		}
		if g.fence <= last.fence && !known(all, g) {
			c.t.Errorf("%s: fence %d of %s at %v after fence %d of %s", job, g.fence, g.owner, g.at, last.fence, last.owner)
		}
		last = g
	}
}

// known reports whether an owner already had its grant: it repeated its request.
func known(all []grant, g grant) bool {
	return slices.ContainsFunc(all, func(o grant) bool {
		return o.owner == g.owner && o.fence == g.fence && o.at.Before(g.at)
	})
}

// checkFloor checks the part of I2 that a store which lost its latest writes cannot keep alone: a claim names the fence of the latest
// run of its node.
func (n *node) checkFloor(cs []series.Claim) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	for i := range cs {
		for _, r := range slices.Backward(n.c.runs[cs[i].Key]) {
			if r.node != n || !r.began.Before(time.Now()) {
				continue
			}
			if cs[i].Fence < r.Fence {
				n.c.t.Errorf("%s: %s asks for a fence above %d at %v, and ran with fence %d", r.Job, n.ID(), cs[i].Fence, time.Now().UTC(), r.Fence)
			}
			break
		}
	}
}

// checkTrust checks invariant I3: a run's context has ended, or its function has returned, before
// another node is granted the job (or its tick, if runs may overlap; of the same tick the same shard).
//
// A node ends a run at least 50 ms before the run's lease is over: here clocks are exact, and elsewhere they are not. ErrLost may also be
// the cause of the end of a place in a limit, which is another lease.
func (c *world) checkTrust(j *scheduler.Job) {
	c.t.Helper()
	rs := c.ran(j.Name)
	slices.SortFunc(rs, func(a, b *run) int { return cmp.Compare(a.Fence, b.Fence) })
	for _, g := range c.given(j.Name) {
		before, _ := slices.BinarySearchFunc(rs, g.fence, func(r *run, f int64) int { return cmp.Compare(r.Fence, f) })
		for _, r := range rs[max(0, before-20):before] {
			if same := r.number() == g.number; r.overlap && !same || same && r.Shard != g.shard {
				continue
			}
			until := r.trusted()
			if errors.Is(r.cause, lock.ErrLost) && until.Equal(r.contextEnd) && j.Limit.Of == 0 {
				until = until.Add(50*time.Millisecond - 1)
			}
			if until.After(g.at) && r.began.Before(g.at) {
				c.t.Errorf("%s: %s was granted %s at %v, the run of %v on %s could go on until %v",
					j.Name, g.owner, time.UnixMilli(g.number).UTC(), g.at, r.Tick, r.node.ID(), until)
			}
		}
	}
}

// trusted returns how long a run trusted its lease.
func (r *run) trusted() time.Time {
	until := r.began.Add(1000 * time.Hour)
	for _, t := range []time.Time{r.over, r.contextEnd, r.node.killed} {
		if !t.IsZero() && t.Before(until) {
			until = t
		}
	}
	return until
}

// journal reads the whole journal of a job.
func (c *world) journal(job string) series.Journal {
	c.t.Helper()
	j, err := c.store.Journal(context.Background(), job, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return j
}

// An account is the content of a job's journal by tick.
type account struct {
	spec   *spec.Schedule
	opened int64
	mark   int64
	ticks  map[int64]string // verdict, reason or outcome, and the attempt if it is not the first
	faults []string
}

// checkJournal checks invariant I4: every tick from the opening of the series to the end has one
// verdict, and the runs match the ledger.
func (c *world) checkJournal(j *scheduler.Job) {
	c.t.Helper()
	a := c.account(j.Name)
	for _, f := range a.faults {
		c.t.Errorf("journal of %s: %s", j.Name, f)
	}
	due := c.stopped.Add(-j.Jitter - max(c.slack, 100*time.Millisecond)).UnixMilli()
	if next := a.spec.NextMilli(a.mark); a.mark != 0 && next != 0 && next <= due {
		c.t.Errorf("journal of %s ends at %v, the tick %v of %v has no verdict", j.Name, at(a.mark), at(next), c.stopped.UTC())
	}
	for _, r := range c.ran(j.Name) {
		if v := a.ticks[r.number()]; !strings.HasPrefix(v, "ran") && v != "lost" {
			c.t.Errorf("journal of %s: %v ran on %s and its verdict is %q", j.Name, r.Tick, r.node.ID(), v)
		}
	}
	r := verify.Job(c.journal(j.Name), verify.Options{Now: c.stopped, Grace: max(c.slack, 100*time.Millisecond) + j.Jitter, Exclusive: j.Overlap != scheduler.OverlapAllow})
	for _, v := range r.Violations {
		if v.Invariant == "I3" && c.strange == clockStepped {
			continue // its instants belong to a clock that went back
		}
		c.t.Errorf("journal of %s: %v", j.Name, v)
	}
}

// account reads the verdicts of a job from its journal.
func (c *world) account(job string) *account {
	c.t.Helper()
	i := slices.IndexFunc(c.jobs, func(j scheduler.Job) bool { return j.Name == job })
	text, err := c.jobs[i].SpecText()
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := spec.Parse(text, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	a := &account{spec: s, ticks: map[int64]string{}}
	for _, l := range c.journal(job).Lines {
		a.add(&l)
	}
	return a
}

func (a *account) add(l *series.Line) {
	switch {
	case l.Verdict == series.VerdictOpened:
		a.opened, a.mark = l.To, max(a.mark, l.To)
		return
	case l.Verdict == series.VerdictControl:
		return
	case l.From == l.To:
		a.again(l)
		return
	case l.From != a.mark:
		a.fault("line %+v does not begin at the mark %v", *l, at(a.mark))
	}
	between := string(l.Between)
	switch {
	case between == string(series.VerdictMissed) && l.Verdict != series.VerdictMissed:
		between += " " + series.ReasonMisfire
	case l.Between == l.Verdict:
		between = strings.TrimSpace(between + " " + l.Reason)
	}
	for t := a.spec.NextMilli(l.From); t != 0 && t < l.To; t = a.spec.NextMilli(t) {
		if a.ticks[t] = between; between == "" {
			a.fault("line %+v passes %v without a verdict", *l, at(t))
		}
	}
	a.mark = l.To
	if a.spec.PrevMilli(l.To) == l.To { // otherwise it is the end of a pause
		a.ticks[l.To] = verdictOf(l)
	}
}

// again applies a line about a tick that the mark has passed.
func (a *account) again(l *series.Line) {
	old, known := a.ticks[l.To]
	if manual := spec.Manual(l.To); manual && !known && l.Verdict != series.VerdictWaiting || !manual && (!known || l.To > a.mark) {
		a.fault("line %+v speaks of a tick that no line has decided", *l)
	}
	if l.Verdict == series.VerdictEnded && !strings.HasPrefix(old, "ran") {
		a.fault("line %+v ends a tick whose verdict is %q", *l, old)
	}
	a.ticks[l.To] = verdictOf(l)
}

func verdictOf(l *series.Line) string {
	v := string(l.Verdict)
	switch {
	case l.Verdict == series.VerdictEnded, l.Outcome != "":
		v = "ran " + l.Outcome
	case l.Verdict == series.VerdictLost:
	case l.Reason != "":
		v += " " + l.Reason
	}
	if l.Attempt > 1 && l.Verdict != series.VerdictLost {
		v += fmt.Sprintf(" #%d", l.Attempt)
	}
	return v
}

func (a *account) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// tally returns the counts of a job's verdicts: "missed misfire 3, ran ok 12".
func (c *world) tally(job string) string {
	c.t.Helper()
	counts := map[string]int{}
	for _, v := range c.account(job).ticks {
		counts[v]++
	}
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", v, counts[v]))
	}
	return strings.Join(parts, ", ")
}

// wantTally compares the verdicts of a job with the wanted ones.
func (c *world) wantTally(job, want string) {
	c.t.Helper()
	if got := c.tally(job); got != want {
		c.t.Errorf("verdicts of %s: %s, want %s", job, got, want)
	}
}
