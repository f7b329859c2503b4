package web

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

const (
	refusedPause = time.Minute // between two lines about refusals of one kind to one caller
	mostRefused  = 1000        // callers and kinds that are remembered for it
)

// A refusal is an action that was not done.
type refusal struct {
	who    string // of the caller, as in the audit
	action string // of several jobs at once: "changes"
	job    string // as it was sent; empty: several
	kind   string // of the problem, as for a program
}

// refusals logs actions that were refused: for each caller and kind of problem at most one line a minute.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex
	lines map[[2]string]refusedLine // by caller and kind
}

// A refusedLine is the last line about refusals of one kind to one caller.
type refusedLine struct {
	at   time.Time
	left int // how many refusals have had no line since
}

// add logs a refusal, unless there is a line about such a one within a minute. The next line has their number.
func (rs *refusals) add(r refusal) {
	times, due := rs.due([2]string{r.who, r.kind}, time.Now())
	if !due {
		return
	}
	var job slog.Attr
	switch {
	case r.job == "":
	case driver.CheckKey(r.job) != nil: // it is no name of a job, and may not print
		job = slog.String("job", driver.Quote(r.job))
	default:
		job = slog.String("job", r.job)
	}
	rs.log.LogAttrs(context.Background(), slog.LevelInfo, "action refused", slog.String("who", r.who), slog.String("action", r.action), job,
		slog.String("reason", r.kind), slog.Int("times", times))
}

// due reports whether a refusal has a line, and how many refusals that line is about. While too many callers and
// kinds are remembered, others have no line.
func (rs *refusals) due(of [2]string, now time.Time) (times int, due bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	last, known := rs.lines[of]
	if known && now.Sub(last.at) < refusedPause {
		last.left++
		rs.lines[of] = last
		return 0, false
	}
	if !known && len(rs.lines) >= mostRefused {
		maps.DeleteFunc(rs.lines, func(_ [2]string, l refusedLine) bool { return now.Sub(l.at) >= refusedPause })
		if len(rs.lines) >= mostRefused {
			return 0, false
		}
	}
	rs.lines[of] = refusedLine{at: now}
	return last.left + 1, true
}

// actionOf returns the action of a route, or "" if it changes no job.
func actionOf(pattern string) string {
	if pattern == selectionRoute {
		return "changes"
	}
	pattern = strings.TrimSuffix(pattern, stopSuffix)
	for _, action := range oneActions {
		if pattern == changeRoute("", action) || pattern == changeRoute("/api/v1", action) {
			return string(action)
		}
	}
	return ""
}

// whoOf returns the name of a caller in the audit.
func whoOf(id string) string { return id + "@web" }
