package ops

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Each kind of line is read as the state that a person would call it.
func TestRuns(t *testing.T) {
	const t0 = 1_800_000_000_000
	ran := func(n int64, attempt int) driver.Line {
		return driver.Line{Verdict: driver.VerdictRan, At: t0 + n + 5, From: t0 + n - 1000, To: t0 + n, Node: "a", Attempt: attempt, Fence: n + int64(attempt)}
	}
	ended := func(n int64, outcome string) driver.Line {
		return driver.Line{Verdict: driver.VerdictEnded, At: t0 + n + 105, From: t0 + n, To: t0 + n, Outcome: outcome, Error: "why"}
	}
	other := func(n int64, v driver.Verdict) driver.Line {
		return driver.Line{Verdict: v, At: t0 + n + 1, From: t0 + n - 3000, To: t0 + n, Between: driver.VerdictMissed, Revision: "r"}
	}
	open := driver.Run{Number: t0, State: driver.RunOpen, Until: t0 + 2000}
	over := driver.Run{Number: t0, State: driver.RunOpen, Until: t0 + 500}
	given := driver.Run{Number: t0, State: driver.RunGivenBack}
	for name, c := range map[string]struct {
		lines []driver.Line
		runs  []driver.Run
		want  State
		alive bool
	}{
		"ok":               {[]driver.Line{ran(0, 1), ended(0, driver.OutcomeOK)}, nil, OK, false},
		"failed":           {[]driver.Line{ran(0, 1), ended(0, driver.OutcomeFailed)}, nil, Failing, false},
		"nothing to do":    {[]driver.Line{ran(0, 1), ended(0, driver.OutcomeSkipped)}, nil, Skipped, false},
		"panic":            {[]driver.Line{ran(0, 1), ended(0, driver.OutcomePanic)}, nil, Failing, false},
		"alive":            {[]driver.Line{ran(0, 1)}, []driver.Run{open}, Running, true},
		"left":             {[]driver.Line{ran(0, 1)}, []driver.Run{over}, Waiting, false},
		"taken over, ok":   {[]driver.Line{ran(0, 1), ran(0, 2), ended(0, driver.OutcomeOK)}, nil, OK, false},
		"given back":       {[]driver.Line{ran(0, 1), ended(0, driver.OutcomeInterrupted)}, []driver.Run{given}, Waiting, false},
		"lost":             {[]driver.Line{ran(0, 1), {Verdict: driver.VerdictLost, At: t0 + 9, From: t0, To: t0}}, nil, Lost, false},
		"skipped":          {[]driver.Line{other(0, driver.VerdictSkipped)}, nil, Skipped, false},
		"missed":           {[]driver.Line{other(0, driver.VerdictMissed)}, nil, Missed, false},
		"paused":           {[]driver.Line{other(0, driver.VerdictPaused)}, nil, Paused, false},
		"waiting":          {[]driver.Line{other(0, driver.VerdictWaiting)}, nil, Waiting, false},
		"superseded":       {[]driver.Line{other(0, driver.VerdictWaiting), {Verdict: driver.VerdictSuperseded, At: t0, From: t0, To: t0}}, nil, Superseded, false},
		"an end alone":     {[]driver.Line{ended(0, driver.OutcomeFailed)}, nil, Failing, false},
		"unreadable lines": {[]driver.Line{driver.UnreadableLine("x"), ran(0, 1), ended(0, driver.OutcomeOK)}, nil, OK, false},
	} {
		all := Runs("shop", &driver.Journal{Lines: c.lines}, &driver.Series{Key: "job", Now: t0 + 1000, Runs: c.runs})
		if len(all) != 1 || all[0].State != c.want || all[0].Alive() != c.alive || all[0].ID != "shop/job@2027-01-15T08:00:00.000Z" {
			t.Errorf("%s: %+v", name, all)
		}
	}
	all := Runs("shop", &driver.Journal{Lines: []driver.Line{ran(0, 1), ended(0, driver.OutcomeOK), ran(1000, 1)}}, &driver.Series{Key: "job"})
	if len(all) != 2 || !all[0].Tick.After(all[1].Tick) || *all[1].LateMs != 5 || *all[1].TookMs != 100 || all[0].TookMs != nil {
		t.Errorf("%+v", all)
	}
}

// The end of a pause is listed as the latest tick in it, and not at all without one.
func TestRunsOfAPause(t *testing.T) {
	const t0 = 1_800_000_000_000
	j := driver.Journal{Revisions: []driver.RevisionUse{{Revision: "r", Spec: "@hourly", Zone: "UTC", First: t0 - 1, Last: t0}}}
	for through, want := range map[time.Duration]time.Duration{time.Hour - time.Millisecond: 0, time.Hour: time.Hour, 3*time.Hour - 1: 2 * time.Hour} {
		to := t0 + through.Milliseconds()
		j.Lines = []driver.Line{{Verdict: driver.VerdictPaused, At: to, From: t0, To: to, Between: driver.VerdictPaused}}
		runs := Runs("shop", &j, &driver.Series{Key: "job", Now: to})
		if want == 0 && len(runs) > 0 || want > 0 && (len(runs) != 1 || runs[0].State != Paused || runs[0].Tick.UnixMilli() != t0+want.Milliseconds()) {
			t.Errorf("resumed after %v: %+v", through, runs)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 5 * time.Millisecond: "5 ms", 1500 * time.Millisecond: "1.5 s", 42 * time.Second: "42 s",
		90 * time.Second: "1 min 30 s", 3*time.Hour + 5*time.Minute: "3 h 5 min", 72 * time.Hour: "3 days",
	} {
		if got := Short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// A pattern is one of path.Match, any other text a part of the name; both in any case.
func TestFind(t *testing.T) {
	s := &Snapshot{Jobs: []*Job{{Name: "report.daily", State: OK}, {Name: "report.hourly", State: Failing}, {Name: "sendSms", State: Overdue}}}
	names := func(f JobFilter) (text string) {
		for _, j := range s.Find(f) {
			text += j.Name + " "
		}
		return text
	}
	for want, f := range map[string]JobFilter{
		"report.daily report.hourly sendSms ": {},
		"sendSms report.hourly report.daily ": {Sort: "state"},
		"report.daily report.hourly ":         {Name: "report.*"},
		"sendSms ":                            {Name: "SMS"},
		"report.hourly ":                      {State: Failing},
		"":                                    {Name: "[x"},
	} {
		if got := names(f); got != want {
			t.Errorf("%+v finds %q, want %q", f, got, want)
		}
	}
}
