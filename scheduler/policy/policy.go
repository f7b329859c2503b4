// Package policy records the policies that decide when a tick is too late, and the limit that a job
// shares with others. Nodes write them next to the spec, so that any reader of the journal can judge
// an undecided tick, or explain a run that waits, without the job's configuration. The package is
// pure.
package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// The words of a Record, as in the configuration.
const (
	Skip    = "skip" // value of overlap and misfire
	Queue   = "queue"
	Allow   = "allow"
	Replace = "replace"
	Once    = "once"
	All     = "all"
)

const (
	// Backlog is the most missed ticks that misfire all runs.
	Backlog = 10
	// Punctual is how late misfire skip still runs a tick.
	Punctual    = time.Second
	minDeadline = time.Second
	maxDeadline = time.Hour
	// listed is the longest default of a broadcast's deadline, without the jitter: the tick ends with it if a node that it expects is dead.
	listed = time.Minute
)

// A Record is the recorded part of a job's policies. The zero Record means that no policy was
// recorded: the deadline is the default.
type Record struct {
	Overlap  string        // skip, queue, allow or replace; empty: not known
	Misfire  string        // once, skip or all; empty: not known
	Deadline time.Duration // as configured; 0: derived from the interval
	Jitter   time.Duration
	Timeout  time.Duration // of a run, with all its tries; 0: none
	Limit    Limit         // shared with other jobs; zero: none

	// Crontab is set if commands in crontabs claim the ticks, and no node does. A tick that no
	// command claims is then not overdue.
	Crontab bool
	// Broadcast is set if each live node runs the tick once.
	Broadcast bool
}

// Values of a Record.
const (
	callersCrontab = "crontab" // of callers, in a crontab
	allNodes       = "all"     // of nodes, in a broadcast
)

// Within returns how late the first attempt of a tick may start. The interval is the distance to
// the next tick. It is 0 if there is none, as after the last year of a spec; then the deadline is
// the longest one.
func (r Record) Within(interval time.Duration) time.Duration {
	if interval == 0 {
		interval = maxDeadline
	}
	switch {
	case r.Misfire == Skip:
		return bounded.Sum(r.Jitter, Punctual)
	case r.Deadline > 0:
		return bounded.Sum(r.Jitter, r.Deadline)
	case r.Misfire == All:
		return bounded.Sum(r.Jitter, bounded.Times(Backlog, max(interval, minDeadline)))
	}
	if r.Broadcast { // a dead node is waited for until then, but not beyond the next tick, which may have no jitter
		return max(bounded.Sum(r.Jitter, minDeadline), min(interval, bounded.Sum(r.Jitter, listed)))
	}
	return bounded.Sum(r.Jitter, min(max(interval, minDeadline), maxDeadline))
}

// DueAt returns the time to claim a tick of a job: its instant plus the jitter, in Unix milliseconds.
// The jitter is a hash of job and tick, so all nodes compute the same time. Next is the tick that
// follows; 0: there is none. The result is before it even if that is closer than the jitter, because
// a tick that came after the next one would be missed.
func (r Record) DueAt(job string, tick, next int64) int64 {
	most := r.Jitter.Milliseconds()
	if next != 0 {
		most = min(most, next-tick-1)
	}
	if most <= 0 {
		return tick
	}
	return tick + int64(rendezvous.Mix(rendezvous.Hash(job)^rendezvous.Mix(uint64(tick)))%uint64(most+1))
}

// String returns the recorded text, such as "overlap:skip/misfire:once/jitter:5s".
func (r Record) String() string {
	var parts []string
	add := func(name, value string) { parts = append(parts, name+":"+value) }
	if r.Overlap != "" {
		add("overlap", r.Overlap)
	}
	if r.Misfire != "" {
		add("misfire", r.Misfire)
	}
	if r.Deadline > 0 {
		add("deadline", r.Deadline.String())
	}
	if r.Jitter > 0 {
		add("jitter", r.Jitter.String())
	}
	if r.Timeout > 0 {
		add("timeout", r.Timeout.String())
	}
	if r.Limit != (Limit{}) {
		add("limit", r.Limit.String())
	}
	if r.Crontab {
		add("callers", callersCrontab)
	}
	if r.Broadcast {
		add("nodes", allNodes)
	}
	return strings.Join(parts, "/")
}

// Parse parses the result of String. It ignores unknown parts, which another version may have
// written. The error names the parts that cannot be parsed, and the Record has the others.
func Parse(text string) (r Record, err error) {
	for part := range strings.SplitSeq(text, "/") {
		name, value, _ := strings.Cut(part, ":")
		switch name {
		case "overlap":
			r.Overlap = value
		case "misfire":
			r.Misfire = value
		case "deadline":
			r.Deadline, err = duration(part, value, err)
		case "jitter":
			r.Jitter, err = duration(part, value, err)
		case "timeout":
			r.Timeout, err = duration(part, value, err)
		case "limit":
			r.Limit, err = parseLimit(part, value, err)
		case "callers":
			r.Crontab = value == callersCrontab
		case "nodes":
			r.Broadcast = value == allNodes
		}
	}
	return r, err
}

func duration(part, value string, before error) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, errors.Join(before, fmt.Errorf("policies: %q is no duration of 0 or more", part))
	}
	return d, before
}
