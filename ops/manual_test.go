package ops

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A manual run is listed under the instant of its request, also if its lines are gone.
func TestManualRuns(t *testing.T) {
	const tick, byHand = 1_800_000_000_000, 1_800_000_003_417
	line := func(v series.Verdict, after int64) series.Line {
		return series.Line{Verdict: v, At: byHand + after, From: byHand, To: byHand, Fence: after, Attempt: 1}
	}
	waiting := series.Run{Number: byHand, State: series.RunWaiting, Granted: byHand, StartBy: byHand + 60_000}
	open := series.Run{Number: byHand, State: series.RunOpen, Attempt: 1, Granted: byHand + 9, Until: byHand + 5000, StartBy: byHand + 60_000}
	for name, c := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		want  string
	}{
		"waits":                    {[]series.Line{line(series.VerdictWaiting, 0)}, []series.Run{waiting}, "waiting waiting"},
		"waits, its line is gone":  {nil, []series.Run{waiting}, "waiting waiting"},
		"runs":                     {[]series.Line{line(series.VerdictWaiting, 0), line(series.VerdictRan, 9)}, []series.Run{open}, "running ran 9"},
		"runs, its lines are gone": {nil, []series.Run{open}, "running ran"},
		"missed":                   {[]series.Line{line(series.VerdictWaiting, 0), line(series.VerdictMissed, 60_001)}, nil, "missed missed"},
		"cancelled":                {[]series.Line{line(series.VerdictWaiting, 0), line(series.VerdictSuperseded, 100)}, nil, "superseded superseded"},
	} {
		all := Runs("shop", &series.Journal{Lines: c.lines}, &series.Series{Key: "job", Now: byHand + 100, Runs: c.runs})
		if len(all) != 1 || !all[0].Manual || all[0].ID != "shop/job@2027-01-15T08:00:03.417Z" {
			t.Errorf("%s: %+v", name, all)
			continue
		}
		got := fmt.Sprint(all[0].State, " ", all[0].Verdict)
		if all[0].LateMs != nil {
			got += fmt.Sprint(" ", *all[0].LateMs)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	ran := series.Line{Verdict: series.VerdictRan, At: tick, From: tick - 1000, To: tick, Attempt: 1}
	if all := Runs("shop", &series.Journal{Lines: []series.Line{ran}}, &series.Series{Key: "job"}); all[0].Manual {
		t.Errorf("a tick is listed as a manual run: %+v", all[0])
	}
}

// A run of a backfill is listed with the tick whose work it does, also if its lines are gone.
func TestRunOfABackfill(t *testing.T) {
	const tick, own = 1_800_000_000_000, 1_800_000_003_417
	waits := series.Line{Verdict: series.VerdictWaiting, At: own, From: own, To: own, Fence: 1, For: tick}
	ran := series.Line{Verdict: series.VerdictRan, At: own + 9, From: own, To: own, Fence: 2, Attempt: 1, Outcome: series.OutcomeOK, Ended: own + 20}
	open := series.Run{Number: own, State: series.RunOpen, Attempt: 1, Granted: own + 9, Until: own + 5000, StartBy: 1, For: tick}
	for name, c := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		state State
	}{
		"ran":                      {[]series.Line{waits, ran}, nil, OK},
		"runs, its lines are gone": {nil, []series.Run{open}, Running},
	} {
		all := Runs("shop", &series.Journal{Lines: c.lines}, &series.Series{Key: "job", Now: own + 100, Runs: c.runs})
		if len(all) != 1 || !all[0].Manual || all[0].State != c.state || !all[0].For.Time().Equal(utc(tick)) || !all[0].Tick.Time().Equal(utc(own)) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// A manual run that ended ok is a success of its job, also after its lines are gone; one that failed or
// waits is none, and is no tick that an alive run blocks.
func TestManualSuccess(t *testing.T) {
	const opened, byHand, now = 1_800_000_000_000, 1_800_000_003_417, 1_800_000_301_000
	j := series.Journal{Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 1s", Zone: "UTC", First: opened, Last: now}}}
	s := series.Series{Key: "job", Now: now, Last: opened + 1000}
	ended := func(outcome string) *Job {
		lines := j
		lines.Lines = []series.Line{{Verdict: series.VerdictRan, At: byHand, From: byHand, To: byHand, Attempt: 1, Outcome: outcome, Ended: byHand + 1}}
		return newJob("shop", lines, s, &NodeList{}, nil)
	}
	if job := ended(series.OutcomeFailed); !job.LastSuccess().Equal(utc(s.Last)) || !job.Pace.Since.Equal(utc(s.Last)) {
		t.Errorf("a failed run is the last success: %v, expected since %v", job.LastSuccess(), job.Pace.Since)
	}
	ok := ended(series.OutcomeOK)
	if !ok.LastSuccess().Equal(utc(byHand)) || !ok.Pace.Since.Equal(utc(byHand)) || !ok.Stall.Starved.IsZero() {
		t.Errorf("the last success is %v, want that of the manual run; starved since %v", ok.LastSuccess(), ok.Stall.Starved)
	}
	if later := newJob("shop", j, s, &NodeList{}, ok); !later.LastSuccess().Equal(utc(byHand)) || !later.Stall.Starved.IsZero() {
		t.Errorf("without its lines: the last success is %v, starved since %v", later.LastSuccess(), later.Stall.Starved)
	}
	alive := Run{Tick: Instant(opened), State: Running, Granted: Instant(opened), LeftMs: new(int64(1))}
	if got := ok.Pace.Stall([]Run{{Tick: Instant(byHand), Manual: true, State: Waiting}, alive}, utc(now)); got.Stuck != nil {
		t.Errorf("a manual run that waits makes the job stuck: %+v", got)
	}
}

// The instant of a manual run is printed so that a command reads it back.
func TestManualInstants(t *testing.T) {
	tick, byHand := time.Date(2026, 11, 26, 10, 15, 3, 0, time.UTC), time.Date(2026, 11, 26, 10, 15, 3, 417e6, time.UTC)
	for _, c := range []struct{ got, want string }{
		{RunName("job", byHand.UnixMilli()), "job@2026-11-26T10:15:03.417Z"},
		{RunName("job", tick.UnixMilli()), "job@2026-11-26T10:15:03Z"},
		{TickClock(byHand, tick), "10:15:03.417"},
		{TickClock(tick, tick), "10:15:03"},
		{StateText(fmt.Sprint("run ", byHand.UnixMilli())), "requested the manual run of 2026-11-26T10:15:03.417Z"},
		{StateText(fmt.Sprintf("run %d: queue, while paused", byHand.UnixMilli())), "requested the manual run of 2026-11-26T10:15:03.417Z: queue, while paused"},
		{StateText("backfill of 2: an outage"), "backfill of 2: an outage"},
		{StateText(fmt.Sprint("cancelled ", byHand.UnixMilli())), "cancelled the run of 2026-11-26T10:15:03.417Z"},
		{StateText(fmt.Sprint("skip ", tick.UnixMilli())), "skips the tick of 2026-11-26T10:15:03Z"},
		{StateText("skip 0"), "skips no tick"},
		{StateText("running"), "running"},
		{failure(&Run{Tick: InstantOf(byHand), State: Missed, Reason: "deadline"}, tick), "The manual run of 10:15:03.417 was missed (deadline)"},
		{failure(&Run{Tick: InstantOf(tick), State: Missed, Reason: "deadline"}, tick), "The tick of 10:15:03 was missed (deadline)"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for state, want := range map[string]int64{"paused until 7": 7, "paused": 0, "cancelled 7": 0, "run 7": 0, "running": 0} {
		if got := pausedUntil(state); got != want {
			t.Errorf("%s: paused until %d, want %d", state, got, want)
		}
	}
	if back, err := time.Parse(time.RFC3339, TickText(byHand)); err != nil || !back.Equal(byHand) {
		t.Errorf("%s is read back as %v, %v", TickText(byHand), back, err)
	}
}

// A tick that will be skipped is in the view of its job.
func TestViewOfASkip(t *testing.T) {
	j := newJob("shop", series.Journal{}, series.Series{Key: "job", Now: 1_800_000_000_000, Skip: 1_800_000_060_000}, &NodeList{}, nil)
	if v := (&Snapshot{}).View(j, false); !v.Skip.Equal(utc(1_800_000_060_000)) {
		t.Errorf("the tick to skip is %v", v.Skip)
	}
}

// A live node that has decided a tick lately has the job, though another node opened it last and died. A node that only changed the
// job, has left, or decided a tick long ago, does not count.
func TestDecider(t *testing.T) {
	const now = 1_800_000_000_000
	members := series.MemberList{Now: now, Members: []series.Member{{Node: "dead", Until: now - 1}, {Node: "left", Left: now - 1}, {Node: "live", Until: now + 1}}}
	line := func(v series.Verdict, node string, ago time.Duration) series.Line {
		return series.Line{Verdict: v, Node: node, At: now - ago.Milliseconds()}
	}
	for name, c := range map[string]struct {
		lines []series.Line
		want  string
	}{
		"no lines":   {nil, ""},
		"live":       {[]series.Line{line(series.VerdictRan, "live", time.Minute), line(series.VerdictSkipped, "dead", 0)}, "live"},
		"dead, left": {[]series.Line{line(series.VerdictRan, "dead", 0), line(series.VerdictRan, "left", 0)}, ""},
		"long ago":   {[]series.Line{line(series.VerdictRan, "live", series.SightedWithin)}, ""},
		"a change":   {[]series.Line{line(series.VerdictControl, "live", 0)}, ""},
	} {
		if got, at := decider(&members, c.lines); got != c.want || (at != 0) != (c.want != "") {
			t.Errorf("%s: %q at %d, want %q", name, got, at, c.want)
		}
	}
}
