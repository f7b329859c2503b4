package proof

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/series"
)

// keys are the exact fields of each line that programs read.
var keys = map[string]string{
	"node started":      "node",
	"node draining":     "node",
	"drain waits":       "claim_names claims ends node run_names runs",
	"node stopped":      "node",
	"run started":       "attempt fence job late_ms node tick",
	"run finished":      "attempt err fence job node outcome tick took_ms",
	"tick passed":       "job node tick winner",
	"tick skipped":      "job node reason tick",
	"tick missed":       "count job node reason tick",
	"lease lost":        "cause fence job node tick",
	"store unreachable": "err node what",
	"store back":        "node",
	"clock offset":      "node offset_ms",
}

// optional are the fields that some of these lines have in addition: the tick whose work a run of a backfill does.
var optional = map[string]string{"run started": "for", "run finished": "for"}

// logs compares the logs of the nodes with the ledger. A run has one line for its start and one for
// its end, both on the node that ran it. Log lines go through a queue, so a process that is killed
// during a run may not have written the first line.
func (c *check) logs() {
	started, finished := c.said("run started"), c.said("run finished")
	seen := map[attempt]bool{}
	for name := range c.jobs {
		for _, s := range c.spans(name) {
			seen[s.start.attempt()] = true
			killed := c.was(s.start.Pid, Killed)
			c.confirm(started, &s.start, s.sure || !killed)
			c.confirm(finished, &s.start, s.sure && !killed)
		}
	}
	for a, ls := range started {
		if !seen[a] && !c.was(ls[0].Pid, Killed) {
			c.found(Logs, a.job, a.tick, "attempt %d: the log has its start, but the ledger does not", a.attempt)
		}
	}
	for i := range c.Lines {
		c.form(&c.Lines[i])
		c.passed(&c.Lines[i])
	}
}

// passed checks that a node reports a tick as decided by another node only if it was decided by
// then. A node in doubt must not report it.
func (c *check) passed(l *Line) {
	job, tick := l.Str("job"), l.Tick()
	if l.Msg != "tick passed" || c.jobs[job] == nil || c.forgotten(tick) {
		return
	}
	if !decided(c.Journals[job], tick, l.At.UnixMilli()) {
		c.found(Presumed, job, tick, "%s reports it as decided by %q, but no node had it", l.Str("node"), l.Str("winner"))
	}
}

// decided reports whether a journal had decided a tick by an instant. A line that merges several
// verdicts has no time for each of them, so decided returns true for all but its last tick.
func decided(j series.Journal, tick, at int64) bool {
	for _, l := range j.Lines {
		if l.Verdict != series.VerdictEnded && l.Verdict != series.VerdictControl && l.To >= tick {
			return l.At <= at || tick < l.To && l.Between == l.Verdict
		}
	}
	return false
}

// said returns the lines with this message by run.
func (c *check) said(msg string) map[attempt][]Line {
	m := map[attempt][]Line{}
	for _, l := range c.Lines {
		if l.Msg == msg && c.jobs[l.Str("job")] != nil {
			m[l.attempt()] = append(m[l.attempt()], l)
		}
	}
	return m
}

// confirm compares a run with the lines about it. There must be at most one, from the process and
// with the fence of the run, and exactly one if wanted.
func (c *check) confirm(said map[attempt][]Line, r *Record, wanted bool) {
	ls := said[r.attempt()]
	switch {
	case len(ls) == 0 && !wanted:
	case len(ls) != 1:
		c.found(Logs, r.Job, r.Tick, "attempt %d has %d such lines, want 1", r.Attempt, len(ls))
	case ls[0].Pid != r.Pid || ls[0].Int("fence") != r.Fence || ls[0].Str("node") != r.Node:
		c.found(Logs, r.Job, r.Tick, "%s ran it with fence %d, the log says %s", r.Node, r.Fence, ls[0].Text)
	}
}

// form checks the keys of a line. Output that is not JSON is no log line: it is a panic or a data race.
func (c *check) form(l *Line) {
	if l.Fields == nil {
		c.found(Logs, "", 0, "process %d printed: %s", l.Pid, l.Text)
		return
	}
	want, fixed := keys[l.Msg]
	got := slices.DeleteFunc(l.Keys(), func(key string) bool { return key == optional[l.Msg] })
	if fixed && !slices.Equal(got, strings.Fields(want)) {
		c.found(Logs, l.Str("job"), l.Tick(), "%q has the keys %v, want %s", l.Msg, got, want)
	}
}
