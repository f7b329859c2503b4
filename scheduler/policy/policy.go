// Package policy records what decides when a tick is too late. Nodes write it beside
// the spec, so that a tick that no node has decided can be judged by any reader of
// the journal, without the job's configuration. It is pure.
package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/internal/bounded"
)

// The words of a Record, those of the configuration.
const (
	Skip    = "skip" // overlap and misfire
	Queue   = "queue"
	Allow   = "allow"
	Replace = "replace"
	Once    = "once"
	All     = "all"
)

const (
	// Backlog is how many missed ticks misfire all runs at most.
	Backlog = 10
	// Punctual is how late misfire skip still runs a tick.
	Punctual    = time.Second
	minDeadline = time.Second
	maxDeadline = time.Hour
)

// A Record is the part of a job's policies that is recorded. The zero Record is that
// of a job of which nothing was: its deadline is the default.
type Record struct {
	Overlap  string        // skip, queue, allow or replace; empty: not known
	Misfire  string        // once, skip or all; empty: not known
	Deadline time.Duration // as configured; 0: from the interval
	Jitter   time.Duration
	Timeout  time.Duration // of a run, with all its tries; 0: none

	// Crontab says that commands which crontabs start ask for the ticks, and no node does: a tick that
	// none of them asks for is not overdue.
	Crontab bool
}

const callersCrontab = "crontab" // the value of callers for a Record of a crontab

// Within is how late the first attempt of a tick may start. The interval is the
// distance to the next tick; 0: there is none, as after the last year of a spec, so the
// tick may be as late as any.
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
	return bounded.Sum(r.Jitter, min(max(interval, minDeadline), maxDeadline))
}

// String is the text that is recorded, such as "overlap:skip/misfire:once/jitter:5s".
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
	if r.Crontab {
		add("callers", callersCrontab)
	}
	return strings.Join(parts, "/")
}

// Parse reads what String wrote. What it does not know, written by another version,
// it passes over; the error says what cannot be read, and the Record has the rest.
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
		case "callers":
			r.Crontab = value == callersCrontab
		}
	}
	return r, err
}

func duration(part, value string, before error) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("policies: %q is no duration of 0 or more", part)
	}
	return d, before
}
