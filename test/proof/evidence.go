package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// Evidence is the result of a scenario.
type Evidence struct {
	View
	*rig.Meter
	Jobs     []Job
	From, To time.Time // ticks in [From, To) must be accounted for
	Journals map[string]series.Journal
	Faults   []Fault       // faults of processes
	Ends     map[int]error // the errors of processes that ended badly, by process id

	// Late has the overdue ticks of each job before the nodes were drained, while nodes were alive and
	// had had time to decide them.
	Late map[string][]verify.Overdue

	// Also has other specs that jobs had on some node. Their ticks may run, too.
	Also []Job
	// Requested reports whether a record is of a manual run that the scenario requested. Nil: it requested none.
	Requested func(r *Record) bool
	// Due overrides, by the name of a job, the ticks that must be accounted for.
	Due map[string][]int64
	// Allowed reports whether a tick may have a verdict other than ran. Nil: none may.
	Allowed func(j *Job, tick int64, v series.Verdict, reason string) bool
	// Since is the start of the time in which the store lost no data. Earlier claims may have no
	// journal. The zero value requires a journal for all.
	Since time.Time
}

// Before returns the evidence from before an instant at which no node was running.
func (e *Evidence) Before(at time.Time) *Evidence {
	part := *e
	part.Records = slices.DeleteFunc(slices.Clone(e.Records), func(r Record) bool { return !r.At.Before(at) })
	part.Lines = slices.DeleteFunc(slices.Clone(e.Lines), func(l Line) bool { return !l.At.Before(at) })
	return &part
}

// A Rule is a rule that a violation breaks.
type Rule string

// The rules.
const (
	Twice      Rule = "twice"      // I1: one tick, one attempt, two runs
	Silent     Rule = "silent"     // I4: a due tick without run and verdict
	Unrecorded Rule = "unrecorded" // I4: it ran, and the journal is silent
	Unstarted  Rule = "unstarted"  // I4: granted, never started, never settled
	Unended    Rule = "unended"    // I4: granted, and no record of the end
	Forbidden  Rule = "forbidden"  // I6: a verdict that the scenario does not explain
	Fences     Rule = "fences"     // I2: they do not strictly increase
	Early      Rule = "early"      // I7: before its tick
	Strange    Rule = "strange"    // I7: an instant outside the job's spec
	Overlaps   Rule = "overlaps"   // I3: two runs at once where the policy forbids it
	Unclaimed  Rule = "unclaimed"  // I5: a run without a grant
	Presumed   Rule = "presumed"   // I5: reported as another node's when no node had it
	Guard      Rule = "guard"      // the guarded resource accepted an old fence
	Logs       Rule = "logs"       // the log contradicts the ledger
	Overdue    Rule = "overdue"    // I4: past its deadline, or left by its node, and no live node decides it
	Crash      Rule = "crash"      // a process ended on its own, or badly
	Journal    Rule = "journal"    // the journal itself breaks an invariant
)

// A Violation is one broken rule.
type Violation struct {
	Rule Rule
	Job  string
	Tick int64 // Unix milliseconds; 0 if it is not about one tick
	Text string
}

func (v Violation) String() string {
	at := ""
	if v.Tick != 0 {
		at = "@" + stamp(v.Tick)
	}
	return fmt.Sprintf("%s: %s%s: %s", v.Rule, v.Job, at, v.Text)
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(tickLayout) }

// Check returns all violations in the evidence.
func Check(e *Evidence) []Violation {
	c := &check{Evidence: e, jobs: map[string]*Job{}}
	for i := range e.Jobs {
		c.jobs[e.Jobs[i].Name] = &e.Jobs[i]
	}
	c.ledger()
	for i := range e.Jobs {
		c.account(&e.Jobs[i])
		c.overlaps(&e.Jobs[i])
	}
	c.claims()
	c.verify()
	c.late()
	c.guard()
	c.logs()
	for pid, err := range e.Ends {
		if !c.was(pid, Killed) {
			c.found(Crash, "", 0, "process %d: %v", pid, err)
		}
	}
	return c.violations
}

// Count counts the violations of one rule.
func Count(vs []Violation, r Rule) (n int) {
	for _, v := range vs {
		if v.Rule == r {
			n++
		}
	}
	return n
}

// A check collects the violations of one evidence.
type check struct {
	*Evidence
	jobs       map[string]*Job
	violations []Violation
}

func (c *check) found(r Rule, job string, tick int64, format string, args ...any) {
	c.violations = append(c.violations, Violation{r, job, tick, fmt.Sprintf(format, args...)})
}

// was reports whether a process had one of these faults.
func (c *check) was(pid int, kinds ...FaultKind) bool {
	for _, f := range c.Faults {
		for _, k := range kinds {
			if f.Pid == pid && f.Kind == k {
				return true
			}
		}
	}
	return false
}

// due returns the ticks of a job that must be accounted for.
func (c *check) due(j *Job) []int64 {
	if c.Due != nil {
		return c.Due[j.Name]
	}
	return j.Ticks(c.From, c.To)
}
