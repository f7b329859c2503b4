package control

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// The ticks of a change are counted and named by the spec, in UTC and in its zone.
func TestPrintTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	daily, err := spec.Parse("0 3 * * *", berlin)
	if err != nil {
		t.Fatal(err)
	}
	second, err := spec.Parse("@every 1s", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour int) int64 { return time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC).UnixMilli() }
	for _, c := range []struct {
		ticks   ticks
		when    string
		through int64
		want    string
	}{
		{ticks{}, "were", at(6, 12), ""},
		{ticks{daily}, "were", at(5, 13), "  0 ticks were recorded as paused; the next that runs is 2026-01-06T02:00:00Z (03:00:00 CET)\n"},
		{ticks{daily}, "were", at(6, 12), "  1 tick was recorded as paused; the next that runs is 2026-01-07T02:00:00Z (03:00:00 CET)\n"},
		{ticks{daily}, "will be", at(6, 12), "  1 tick will be recorded as paused; the next that runs is 2026-01-07T02:00:00Z (03:00:00 CET)\n"},
		{ticks{daily}, "will be", 0, "  each tick from 2026-01-06T02:00:00Z (03:00:00 CET) on will be recorded as paused, until cronce resume\n"},
		{ticks{second}, "were", at(25, 12), "  more than 1000000 ticks were recorded as paused; the next that runs is 2026-01-25T12:00:01Z\n"},
	} {
		var b bytes.Buffer
		c.ticks.print(&b, c.when, at(5, 12), c.through)
		if b.String() != c.want {
			t.Errorf("it prints %q, want %q", b.String(), c.want)
		}
	}
	if text := (ticks{daily}).format(time.Time{}); text != "none" {
		t.Errorf("without a next tick it prints %q", text)
	}
	for mark, want := range map[int64]string{
		at(5, 12): "",
		at(7, 2):  "  recorded as missed: 2 ticks up to 2026-01-07T02:00:00Z (03:00:00 CET), which no node had decided\n",
	} {
		for due, want := range map[int64]string{mark: want, mark - 1: ""} { // another node decided the ticks
			var b bytes.Buffer
			ticks{daily}.missed(&b, &series.Control{Due: due}, &series.Series{Mark: at(5, 12)}, &series.Series{Mark: mark})
			if b.String() != want {
				t.Errorf("it prints %q, want %q", b.String(), want)
			}
		}
	}
}

// A plan shows the ticks of each verdict, and of many the first and the last.
func TestPrintPlan(t *testing.T) {
	p := ops.Plan{RoomMs: 500, Warnings: []string{}}
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	for i := range 13 {
		verdict := verify.TickMissed
		if i < 6 {
			verdict = verify.TickPaused
		}
		p.Ticks = append(p.Ticks, ops.PlannedTick{Tick: tick.Add(time.Duration(i) * time.Minute), Verdict: verdict})
	}
	p.Count = len(p.Ticks)
	var b bytes.Buffer
	printPlan(&b, "job", &p)
	at := func(minutes ...string) string {
		return "2026-01-05T03:" + strings.Join(minutes, ":00Z, 2026-01-05T03:") + ":00Z"
	}
	for _, want := range []string{"  6 paused: " + at("00", "01", "02", "03", "04", "05") + "\n", "  7 missed: " + at("06", "07", "08") + ", …, " + at("10", "11", "12") + "\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from %s", want, b.String())
		}
	}
}

// A job that has several runs is no name of one: the refusal names the runs.
func TestOnlyRun(t *testing.T) {
	is := series.Series{Key: "job", Runs: []series.Run{{Number: 1000}, {Number: 2000}}}
	number, err := onlyRun(&is)
	if number != 0 || exit.Code(err, true) != exit.WrongUsage || err.Error() != `cancel: "job" has 2 runs that have not ended, name one: job@1970-01-01T00:00:01Z, job@1970-01-01T00:00:02Z` {
		t.Errorf("%d, %v", number, err)
	}
}

// The end of a run is printed as its outcome, or as the reason for the lack of one.
func TestEndText(t *testing.T) {
	for want, l := range map[string]series.Line{
		"as ok at 1970-01-01T00:00:01Z":                                   {Verdict: series.VerdictEnded, Outcome: series.OutcomeOK, Ended: 1000},
		"without a result: its node did not answer, and the tick is lost": {Verdict: series.VerdictLost},
		"(the journal has no line of it any more)":                        {},
		"before it started: missed":                                       {Verdict: series.VerdictMissed},
	} {
		if got := endText(&l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A run is alive until its lease ends, and not if it only waits.
func TestAlive(t *testing.T) {
	s := series.Series{Now: 1000, Runs: []series.Run{{State: series.RunOpen, Until: 1000}, {State: series.RunOpen, Until: 1001}, {Until: 1001}}}
	if s.Runs[2].State = series.RunWaiting; alive(&s) != 1 {
		t.Errorf("%d runs are alive", alive(&s))
	}
}
