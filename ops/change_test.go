package ops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A job that is in the requested state already is left as it is. A pause is neither extended by accident, nor
// taken for one that a named operation of another caller has made.
func TestStands(t *testing.T) {
	const now, end = 1_000, 5_000
	paused := func(until int64) *series.Series {
		return &series.Series{Key: "job", Now: now, Paused: true, Pause: series.Pause{Who: "ann", Reason: "the night", Until: until}}
	}
	running := &series.Series{Key: "job", Now: now}
	pause := func(who string, until int64) Request {
		return Request{Control: series.Control{Key: "job", Action: series.ActionPause, Who: who, Until: until}}
	}
	edited := func(r Request, edit func(r *Request)) Request { edit(&r); return r }
	named, replace := func(r *Request) { r.Named = true }, func(r *Request) { r.Replace = true }
	resume := Request{Control: series.Control{Key: "job", Action: series.ActionResume, Who: "ann"}}
	for name, c := range map[string]struct {
		old     *series.Series
		request Request
		outcome Outcome
		refusal series.Refusal
	}{
		"a pause of a running job":            {running, pause("ann", 0), "", ""},
		"a pause whose predecessor is over":   {paused(now - 1), pause("ann", 0), "", ""},
		"a second pause":                      {paused(0), pause("ann", end), ChangeStands, ""},
		"of another caller":                   {paused(0), pause("bob", 0), ChangeStands, ""},
		"of another caller, named":            {paused(0), edited(pause("bob", 0), named), ChangeRefused, RefusedPaused},
		"of the same caller, named":           {paused(0), edited(pause("ann", 0), named), ChangeStands, ""},
		"with the same end":                   {paused(end), pause("ann", end), ChangeStands, ""},
		"with an earlier end":                 {paused(end), pause("ann", end-1), ChangeStands, ""},
		"with a later end":                    {paused(end), pause("ann", end+1), ChangeRefused, RefusedShorter},
		"with no end":                         {paused(end), pause("ann", 0), ChangeRefused, RefusedShorter},
		"that replaces the first":             {paused(end), edited(pause("ann", 0), replace), "", ""},
		"of a retired job":                    {paused(driver.MaxNumber), pause("ann", 0), ChangeRefused, RefusedRetired},
		"a resume of a running job":           {running, resume, ChangeStands, ""},
		"a resume of a job whose pause ended": {paused(now - 1), resume, ChangeStands, ""},
		"a resume of a paused job":            {paused(0), resume, "", ""},
	} {
		if a := stands(c.old, &c.request); a.Outcome != c.outcome || a.Refusal != c.refusal || (a.Text != "") != (c.outcome != "") || strings.Contains(a.Text, " until ") != (c.old.Pause.Until == end && c.outcome != "") {
			t.Errorf("%s: %s %s: %s", name, a.Outcome, a.Refusal, a.Text)
		}
	}
}

// Each refusal says why, and that nothing was done.
func TestRefusalText(t *testing.T) {
	const tick = 1_800_000_000_000
	for _, c := range []struct {
		action  series.Action
		refusal series.Refusal
		want    string
	}{
		{series.ActionPause, series.RefusedNotOpen, "job was never opened by a node, or the store lost its state: there is nothing to pause until a node that has it opens it"},
		{series.ActionPause, series.RefusedChanged, "job: another change came first, resume by bob at 2027-01-15T08:00:00Z: nothing was done, see how it stands and ask again"},
		{series.ActionResume, series.RefusedNotPaused, "job is not paused"},
		{series.ActionPause, series.RefusedPast, "job: the pause would have been over before it began: nothing was done"},
		{series.ActionBackfill, series.RefusedFull, "job has a backfill that is not over: nothing was done, see cronce status jobs show job"},
		{series.ActionRun, series.RefusedFull, fmt.Sprintf("job has %d requested runs that have not started: nothing was done", series.MaxRequested)},
		{series.ActionRun, series.RefusedAlive, "job has a run that is alive: nothing was done, see cronce runs job --alive"},
		{series.ActionSkip, series.RefusedOver, "job@2027-01-15T08:00:00Z is decided: nothing was done"},
		{series.ActionCancel, series.RefusedOver, "job@2027-01-15T08:00:00Z has ended, or no node was granted it: nothing was done"},
		{series.ActionCancel, series.RefusedFence, "job@2027-01-15T08:00:00Z has another attempt: nothing was done"},
		{series.ActionCancel, "of a newer store", "job: of a newer store: nothing was done"},
	} {
		a := series.ControlAnswer{Refusal: c.refusal, Latest: series.Change{Action: series.ActionResume, Who: "bob", At: tick}}
		if got := refusalText(&series.Control{Key: "job", Action: c.action, Number: tick}, &a); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A dry run says when the run would start: behind an alive run, unless runs may overlap. A run whose lease is over
// keeps none back.
func TestForeseen(t *testing.T) {
	const now, tick = 1_800_000_001_000, 1_800_000_000_000
	for name, c := range map[string]struct {
		until   int64
		overlap series.Overlap
		want    string
	}{
		"behind an alive run": {now + 1, series.OverlapQueue, "job would start when job@2027-01-15T08:00:00Z ends, within 1m0s"},
		"its lease is over":   {now, series.OverlapQueue, "job would start at once"},
		"beside it":           {now + 1, series.OverlapAllow, "job would start at once"},
	} {
		old := &series.Series{Key: "job", Now: now, Mark: tick, Runs: []series.Run{{Number: tick, State: series.RunOpen, Owner: "n/x", Attempt: 1, Granted: tick, Until: c.until}}}
		r := Request{Control: series.Control{Key: "job", Action: series.ActionRun, Op: "op", Who: "ann", Reason: "by hand", Until: now + 60_000, Overlap: c.overlap, Seen: series.AnySeen}}
		if a := r.foreseen(old); a.Outcome != ChangeStands || a.Text != c.want {
			t.Errorf("%s: %s %s", name, a.Outcome, a.Text)
		}
	}
}

// A request that repeats an operation is the same change only if all of it is the same. The stop of a backfill is no
// backfill, even one whose record has no interval.
func TestMade(t *testing.T) {
	record := func(action series.Action, after string) *series.AuditRecord {
		return &series.AuditRecord{Action: action, Who: "ann", Reason: "by hand", After: after}
	}
	request := func(action series.Action) Request {
		return Request{Control: series.Control{Action: action, Who: "ann", Reason: "by hand", Number: 7}}
	}
	pause, run, fill := request(series.ActionPause), request(series.ActionRun), request(series.ActionBackfill)
	pause.Until, run.Scope, fill.Scope, fill.Backfill = 7, "queue", "all", &Backfill{}
	bare, other, why := fill, pause, pause
	bare.Scope, other.Who, why.Reason = "", "bob", "for fun"
	for name, c := range map[string]struct {
		request Request
		record  *series.AuditRecord
		want    bool
	}{
		"a pause":                      {pause, record(series.ActionPause, "paused until 7"), true},
		"with another end":             {pause, record(series.ActionPause, "paused until 8"), false},
		"of another caller":            {other, record(series.ActionPause, "paused until 7"), false},
		"for another reason":           {why, record(series.ActionPause, "paused until 7"), false},
		"a resume":                     {request(series.ActionResume), record(series.ActionResume, "running"), true},
		"a resume for a pause":         {request(series.ActionResume), record(series.ActionPause, "paused"), false},
		"a cancel":                     {request(series.ActionCancel), record(series.ActionCancel, "cancelled 7"), true},
		"of another run":               {request(series.ActionCancel), record(series.ActionCancel, "cancelled 8"), false},
		"a skip":                       {request(series.ActionSkip), record(series.ActionSkip, "skip 7"), true},
		"of another tick":              {request(series.ActionSkip), record(series.ActionSkip, "skip 0"), false},
		"a run":                        {run, record(series.ActionRun, "run 9: queue"), true},
		"with another choice":          {run, record(series.ActionRun, "run 9"), false},
		"a backfill":                   {fill, record(series.ActionBackfill, "backfill of 3: all"), true},
		"of another interval":          {fill, record(series.ActionBackfill, "backfill of 3: some"), false},
		"a backfill without its scope": {bare, record(series.ActionBackfill, "backfill of 3"), true},
		"a backfill for its stop":      {bare, record(series.ActionBackfill, stoppedBackfill), false},
		"the stop of a backfill":       {request(series.ActionBackfill), record(series.ActionBackfill, stoppedBackfill), true},
		"a stop for a backfill":        {request(series.ActionBackfill), record(series.ActionBackfill, "backfill of 3"), false},
	} {
		if got := c.request.made(c.record); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
