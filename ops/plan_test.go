package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// planned is the record of a job whose ticks, ten seconds apart, have one verdict each. Its journal begins
// with the opening of the job, at the instant opened.
type planned struct {
	series.Journal
	series.Series
	opened int64
}

const tenth = 10_000 // ms between two ticks

func newPlanned() *planned {
	r := &planned{opened: 1_800_000_000_000}
	r.Journal.Revisions = []series.RevisionUse{{Revision: "r", Spec: "@every 10s", Zone: "UTC", Node: "n", First: r.opened, Last: r.opened + 100*tenth}}
	r.Series = series.Series{Key: "job", Mark: r.opened, Fence: 1}
	r.line(series.Line{Verdict: series.VerdictOpened, From: r.opened, To: r.opened, At: r.opened})
	return r
}

func (r *planned) line(l series.Line) {
	l.Revision, l.Node = "r", "n"
	if l.At == 0 {
		l.At = l.To + 10
	}
	r.Lines = append(r.Lines, l)
	r.Mark = max(r.Mark, l.To)
	r.Now = max(r.Mark, l.At) + 20
}

// tick is the tick of a number, from 1 on.
func (r *planned) tick(n int64) int64 { return r.opened + n*tenth }

// ran adds a tick that ran for 2.5 s, and had an outcome.
func (r *planned) ran(n int64, outcome string) {
	ms := r.tick(n)
	r.line(series.Line{Verdict: series.VerdictRan, From: ms - tenth, To: ms, Fence: n + 10, Attempt: 1, Outcome: outcome, Ended: ms + 2510})
}

// spent adds a tick that did not run.
func (r *planned) spent(n int64, v series.Verdict, reason string) {
	ms := r.tick(n)
	r.line(series.Line{Verdict: v, From: ms - tenth, To: ms, Reason: reason})
}

// repeated adds a run of a backfill for a tick, with its instant in ms after the mark.
func (r *planned) repeated(after, tick int64, fence int64, outcome string) {
	ms := r.Mark + after
	mark := r.Mark
	r.line(series.Line{Verdict: series.VerdictControl, Reason: string(series.ActionBackfill), From: r.Mark, To: r.Mark, At: ms - 1, Change: 1})
	r.line(series.Line{Verdict: series.VerdictWaiting, From: ms, To: ms, At: ms, Fence: fence, For: tick})
	r.line(series.Line{Verdict: series.VerdictRan, From: ms, To: ms, At: ms + 1, Fence: fence + 1, Attempt: 1, Outcome: outcome, Ended: ms + 100})
	r.Mark = mark
}

func (r *planned) plan(b Backfill) (Plan, bool) {
	if b.From.IsZero() {
		b.From, b.To = utc(r.opened+1), utc(r.opened+50*tenth)
	}
	return newPlanner(&r.Journal, &r.Series).plan(&b)
}

// verdicts are the numbers of the ticks of a plan with their verdicts.
func (r *planned) verdicts(p *Plan) string {
	var all []string
	for _, t := range p.Ticks {
		all = append(all, fmt.Sprintf("%d %s", (t.Tick.UnixMilli()-r.opened)/tenth, t.Verdict))
	}
	return strings.Join(all, ", ")
}

// Each selection has the ticks with its verdicts, and none that is not decided or whose run has not ended.
func TestPlanByVerdict(t *testing.T) {
	r := newPlanned()
	r.ran(1, series.OutcomeOK)
	for i, outcome := range []string{series.OutcomeFailed, series.OutcomePanic, series.OutcomeTimeout, series.OutcomeCancelled} {
		r.ran(int64(2+i), outcome)
	}
	r.spent(6, series.VerdictMissed, series.ReasonDeadline)
	r.spent(7, series.VerdictPaused, "")
	r.spent(8, series.VerdictSkipped, series.ReasonOverlap)
	r.ran(9, "")
	r.line(series.Line{Verdict: series.VerdictLost, From: r.tick(9), To: r.tick(9), At: r.tick(10), Fence: 19, Attempt: 1, Reason: series.ReasonLost})
	r.ran(10, series.OutcomeSkipped)
	r.spent(11, series.VerdictWaiting, "")
	r.line(series.Line{Verdict: series.VerdictSuperseded, From: r.tick(11), To: r.tick(11), At: r.tick(12)})
	r.line(series.Line{Verdict: series.VerdictMissed, From: r.tick(11), To: r.tick(14), Between: series.VerdictMissed, Reason: series.ReasonMisfire})
	r.ran(15, "")
	r.Runs = []series.Run{{Number: r.tick(15), State: series.RunOpen, Owner: "n/x", Fence: 25, Attempt: 1, Granted: r.tick(15) + 10, Until: r.Now + 5000}}
	never := "6 missed, 7 paused, 8 skipped, 9 lost, 11 superseded, 12 missed, 13 missed, 14 missed"
	failed := "2 failed, 3 failed, 4 failed, 5 failed, " + never
	for only, want := range map[Only]string{
		"": never, NeverRan: never, NotOK: failed,
		AllTicks: "1 ran, " + strings.Replace(failed, "11 ", "10 skipped, 11 ", 1),
	} {
		p, ok := r.plan(Backfill{Only: only})
		if got := r.verdicts(&p); !ok || got != want || p.Count != len(p.Ticks) || !p.Complete || p.Unknown != 0 || len(p.Warnings) != 0 {
			t.Errorf("%s: %s, want %s: %+v", only, got, want, p)
		}
	}
	p, _ := r.plan(Backfill{From: utc(r.tick(7)), To: utc(r.tick(9))})
	if got := r.verdicts(&p); got != "7 paused, 8 skipped, 9 lost" || !p.From.Equal(utc(r.tick(7))) || !p.To.Equal(utc(r.tick(9))) {
		t.Errorf("an interval has its ends: %s", got)
	}
	if p.RoomMs != 2500 || *p.EstimateMs != 3*2500 || *p.MostMs != 3*2500 {
		t.Errorf("the room is %d ms, the estimate %d to %d ms", p.RoomMs, *p.EstimateMs, *p.MostMs)
	}
}

// A tick whose work an earlier backfill did, or found done, is left out, unless all ticks are wanted; one whose
// run failed is in the plan again. Each of these plans has a digest of its own, and so has each room.
func TestPlanAfterABackfill(t *testing.T) {
	r := newPlanned()
	r.spent(1, series.VerdictMissed, series.ReasonDeadline)
	r.spent(2, series.VerdictMissed, series.ReasonDeadline)
	r.spent(3, series.VerdictMissed, series.ReasonDeadline)
	first, _ := r.plan(Backfill{})
	wider, _ := r.plan(Backfill{Room: 2 * time.Second})
	r.repeated(1234, r.tick(1), 30, series.OutcomeOK)
	r.repeated(2345, r.tick(2), 40, series.OutcomeFailed)
	r.repeated(3456, r.tick(3), 50, series.OutcomeSkipped)
	later, _ := r.plan(Backfill{Room: first.room()})
	if got := r.verdicts(&later); got != "2 missed" || later.Done != 2 {
		t.Errorf("the plan has %s, and %d done", got, later.Done)
	}
	again, _ := r.plan(Backfill{Room: first.room()})
	if first.Digest == wider.Digest || first.Digest == later.Digest || later.Digest != again.Digest {
		t.Errorf("the digests are %s, with another room %s, then %s and %s", first.Digest, wider.Digest, later.Digest, again.Digest)
	}
	all, _ := r.plan(Backfill{Only: AllTicks})
	if got := r.verdicts(&all); got != "1 missed, 2 missed, 3 missed" || all.Done != 0 {
		t.Errorf("the plan of all ticks has %s, and %d done", got, all.Done)
	}
}

func (p *Plan) room() time.Duration { return time.Duration(p.RoomMs) * time.Millisecond }

// Ticks before the lines of the journal are in the plan if an exception has their verdict, with a
// warning; other ones are counted, and are in the plan of all ticks alone. An instant there that only an earlier spec
// names is no tick.
func TestPlanBeforeTheJournal(t *testing.T) {
	r := newPlanned()
	r.Revisions = append(r.Revisions, series.RevisionUse{Revision: "q", Spec: "@every 5s", Zone: "UTC", Node: "n", First: r.opened - 1, Last: r.opened})
	r.Lines = nil
	r.Truncated = true
	r.Exceptions = []series.Line{{Verdict: series.VerdictMissed, From: r.tick(1), To: r.tick(3), At: r.tick(3) + 10, Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r"}}
	r.ran(5, series.OutcomeOK)
	r.spent(6, series.VerdictMissed, series.ReasonDeadline)
	p, _ := r.plan(Backfill{})
	if got := r.verdicts(&p); got != "2 missed, 3 missed, 6 missed" || p.Complete || !p.Begins.Equal(utc(r.tick(4))) || p.Unknown != 2 {
		t.Errorf("the plan has %s: %+v", got, p)
	}
	if len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "2 ticks of the plan came before the lines") {
		t.Errorf("the warnings are %q", p.Warnings)
	}
	all, _ := r.plan(Backfill{Only: AllTicks})
	if got := r.verdicts(&all); got != "1 not known, 2 missed, 3 missed, 4 not known, 5 ran, 6 missed" || len(all.Warnings) != 0 {
		t.Errorf("the plan of all ticks has %s: %+v", got, all)
	}
	r.Exceptions[0] = series.Line{Verdict: series.VerdictSkipped, From: r.tick(1), To: r.tick(2), At: r.tick(2) + 10, Reason: series.ReasonOverlap, Revision: "r"}
	if p, _ = r.plan(Backfill{}); r.verdicts(&p) != "2 skipped, 6 missed" || p.Unknown != 3 {
		t.Errorf("with a skipped tick the plan has %s: %+v", r.verdicts(&p), p)
	}
	r.Exceptions = nil
	if p, _ = r.plan(Backfill{}); r.verdicts(&p) != "6 missed" || p.Unknown != 4 {
		t.Errorf("without exceptions the plan has %s: %+v", r.verdicts(&p), p)
	}
}

// On a day of daylight saving the plan has the ticks that the spec has: the fixed hour of the gap is one
// tick at its end, and a repeated one is its first.
func TestPlanOfDaylightSaving(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string]string{"2026-03-29": "2026-03-29T01:00:00Z", "2026-10-25": "2026-10-25T00:30:00Z"} {
		noon, err := time.ParseInLocation("2006-01-02 15:04", day+" 12:00", zone)
		if err != nil {
			t.Fatal(err)
		}
		began := noon.Add(-12 * time.Hour).UnixMilli()
		j := series.Journal{Revisions: []series.RevisionUse{{Revision: "r", Spec: "30 2 * * *", Zone: zone.String(), First: began, Last: noon.UnixMilli()}}}
		j.Lines = []series.Line{{Verdict: series.VerdictOpened, From: began, To: began, At: began},
			{Verdict: series.VerdictMissed, From: began, To: noon.UnixMilli() - 1000, At: noon.UnixMilli(), Between: series.VerdictMissed, Revision: "r", Reason: series.ReasonMisfire}}
		p, _ := newPlanner(&j, &series.Series{Key: "job", Mark: noon.UnixMilli() - 1000, Now: noon.UnixMilli()}).plan(&Backfill{From: utc(began), To: noon})
		if p.Count != 1 || p.Ticks[0].Tick.Format(time.RFC3339) != want {
			t.Errorf("%s: %+v, want %s", day, p.Ticks, want)
		}
	}
}

// The caller names the room, or it is the usual time of a run, the timeout, or a second. A room that no interval of the
// spec exceeds has a warning, unless runs may overlap.
func TestPlanRoom(t *testing.T) {
	for name, c := range map[string]struct {
		policies string
		ran      bool
		room     time.Duration
		want     int64
		warning  string
	}{
		"of the runs":          {"", true, 0, 2500, ""},
		"named":                {"", true, 4500 * time.Millisecond, 4500, ""},
		"of the timeout":       {"timeout:4s", false, 0, 4000, ""},
		"named, not that":      {"timeout:4s", false, 3 * time.Second, 3000, ""},
		"not known":            {"", false, 0, 1000, "so how long one takes is not known"},
		"as long as the spec":  {"", true, 10 * time.Second, 10_000, "nothing would start"},
		"beside a run":         {"", true, 7500 * time.Millisecond, 7500, "for the run of a tick, 2.5s, and the room, 7.5s"},
		"longer, with overlap": {"overlap:allow", true, 20 * time.Second, 20_000, ""},
	} {
		r := newPlanned()
		r.Revisions[0].Policies = c.policies
		r.spent(1, series.VerdictMissed, series.ReasonDeadline)
		if c.ran {
			r.ran(2, series.OutcomeOK)
		}
		p, _ := r.plan(Backfill{Room: c.room})
		if got := strings.Join(p.Warnings, ", "); p.RoomMs != c.want || c.warning == "" && got != "" || !strings.Contains(got, c.warning) {
			t.Errorf("%s: the room is %d ms, warnings %q", name, p.RoomMs, got)
		}
	}
	hours := newPlanned()
	hours.Revisions[0].Spec = "* 0-22 * * *" // a run fits into the hour without ticks
	if p, _ := hours.plan(Backfill{Room: time.Minute}); strings.Contains(strings.Join(p.Warnings, " "), "nothing would start") {
		t.Errorf("the warnings are %q", p.Warnings)
	}
}

// A job without a spec on record, or with one that this build cannot read, has a plan without ticks. A plan warns of missing facts.
func TestPlanWithoutASpec(t *testing.T) {
	r := newPlanned()
	r.spent(1, series.VerdictMissed, series.ReasonDeadline)
	r.Faults = []string{"a part"}
	for _, c := range []struct {
		revisions []series.RevisionUse
		warning   string
	}{
		{nil, "not all is known: no spec is recorded: the due ticks cannot be computed"},
		{[]series.RevisionUse{{Revision: "r", Spec: "@fortnightly", Zone: "UTC"}}, `not all is known: the spec "@fortnightly" cannot be read: `},
	} {
		r.Revisions = c.revisions
		p, ok := r.plan(Backfill{})
		if !ok || p.Count != 0 || p.RoomMs != 1000 || !slices.Contains(p.Warnings, "not all is known: cannot be read: a part") || !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.HasPrefix(w, c.warning) }) {
			t.Errorf("%v: ok %v, %+v", c.revisions, ok, p)
		}
	}
}

// A plan judges a bounded number of ticks. Those that are not decided do not count.
func TestPlanOfTooManyTicks(t *testing.T) {
	r := newPlanned()
	n := int64(mostExamined + 1)
	if p, ok := r.plan(Backfill{From: utc(r.opened), To: utc(r.tick(2 * n))}); !ok || p.Count != 0 {
		t.Errorf("ok %v: %d", ok, p.Count)
	}
	r.line(series.Line{Verdict: series.VerdictMissed, From: r.opened, To: r.tick(n), Between: series.VerdictMissed, Reason: series.ReasonMisfire})
	if p, ok := r.plan(Backfill{From: utc(r.opened), To: utc(r.tick(n))}); ok || p.Count != mostExamined+1 {
		t.Errorf("ok %v: %d", ok, p.Count)
	}
	if p, ok := r.plan(Backfill{From: utc(r.tick(2)), To: utc(r.tick(n))}); !ok || p.Count != mostExamined {
		t.Errorf("ok %v: %d", ok, p.Count)
	}
}

// An interval that ends before it begins, and other values that mean nothing, are refused with their names.
func TestBackfillCheck(t *testing.T) {
	at := utc(1_800_000_000_000)
	for _, c := range []struct {
		want string
		Backfill
	}{
		{"", Backfill{From: at, To: at, Only: NotOK, Room: time.Second}},
		{"", Backfill{From: utc(1), To: at, Room: MostRoom, Usual: MostRoom}},
		{"from", Backfill{To: at}},
		{"from", Backfill{From: utc(0), To: at}},
		{"to", Backfill{From: at, To: at.Add(-time.Second)}},
		{"only", Backfill{From: at, To: at, Only: "good"}},
		{"room", Backfill{From: at, To: at, Room: time.Microsecond}},
		{"room", Backfill{From: at, To: at, Room: -time.Second}},
		{"room", Backfill{From: at, To: at, Room: MostRoom + time.Second}},
		{"usual", Backfill{From: at, To: at, Usual: MostRoom + 1}},
		{"usual", Backfill{From: at, To: at, Usual: -1}},
	} {
		if bad, is := errors.AsType[*driver.ArgumentError](c.Check()); is != (c.want != "") || is && bad.Argument != c.want {
			t.Errorf("%+v: %v", c.Backfill, bad)
		}
	}
}

// A plan in words has its time, its verdicts, and the ticks that were left out.
func TestPlanInWords(t *testing.T) {
	p := Plan{From: utc(1_800_000_000_000), To: utc(1_800_000_060_000), Only: NeverRan, Count: 3, Complete: true, Warnings: []string{"w"},
		Ticks: []PlannedTick{{Verdict: verify.TickMissed}, {Verdict: verify.TickLost}, {Verdict: verify.TickMissed}}}
	if got := p.Counts(); !slices.Equal(got, []VerdictCount{{"missed", 2}, {"lost", 1}}) {
		t.Errorf("%v", got)
	}
	if got := p.Text("job"); got != "3 ticks of job would be repeated, one after another" {
		t.Error(got)
	}
	for most, want := range map[int64]string{30_000: "in about 30 s of work", 60_000: "in about 30 s to 1 min 0 s of work"} {
		if p.EstimateMs, p.MostMs = new(int64(30_000)), &most; p.Text("job") != "3 ticks of job would be repeated, one after another, "+want {
			t.Error(p.Text("job"))
		}
	}
	const nothing = "no tick of job from 2027-01-15T08:00:00Z to 2027-01-15T08:01:00Z is to be repeated (never-ran)"
	if notes := p.Notes(); !slices.Equal(notes, []string{"w"}) || p.nothing("job") != nothing {
		t.Errorf("%q; %s", notes, p.nothing("job"))
	}
	p.Done, p.Unknown, p.Complete, p.Begins = 2, 1, false, utc(1_800_000_000_000)
	want := []string{"w", "2 ticks left out: an earlier backfill did that work", "the verdicts of 1 tick are not known any more", "the journal has each verdict after 2027-01-15T08:00:00Z, and of earlier ones those that went wrong"}
	if notes := p.Notes(); !slices.Equal(notes, want) || p.nothing("job") != nothing+", an earlier backfill did the work of 2, and the verdicts of 1 are not known any more" {
		t.Errorf("%q; %s", notes, p.nothing("job"))
	}
}

// A backfill that goes on is in the view of its job.
func TestViewOfABackfill(t *testing.T) {
	s := series.Series{Key: "job", Now: 1_800_000_009_000, Left: 3, Runs: []series.Run{{Number: 1_800_000_008_123, For: 1_800_000_000_000, StartBy: 1, State: series.RunWaiting}}}
	j := newJob("shop", series.Journal{}, s, &NodeList{}, nil)
	if v := (&Snapshot{}).View(j, false).Backfill; v == nil || v.String() != "backfill: 3 left, and one for the tick of 2027-01-15T08:00:00Z" || !spec.Manual(v.Run.UnixMilli()) {
		t.Errorf("the backfill is %v", v)
	}
	j.Series.Left, j.Series.Runs = 0, []series.Run{{Number: 1_800_000_008_000, State: series.RunOpen}, {Number: 1_800_000_008_123, For: 1_800_000_000_000, State: series.RunDone}}
	if v := j.Backfill(); v != nil {
		t.Errorf("a job without a backfill has %v", v)
	}
}
