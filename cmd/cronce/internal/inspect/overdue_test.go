package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/verify"
)

// A mark within the tolerance is not ahead for doctor; a millisecond beyond it is.
func TestMarkAheadToTheMillisecond(t *testing.T) {
	for past, ahead := range map[int64]bool{0: false, series.Tolerance: false, series.Tolerance + 1: true} {
		s := series.Series{Key: "job", Now: 1_800_000_000_000, Mark: 1_800_000_000_000 + past}
		if _, found := markOf(s); found != ahead {
			t.Errorf("%d ms ahead: doctor says %v", past, found)
		}
	}
}

// The clocks agree if they differ by at most half of the measured round trip plus the millisecond
// to which they are read.
func TestClockOf(t *testing.T) {
	sent := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		trip, offset time.Duration
		level        redislock.Level
		agree        bool
	}{
		{0, time.Millisecond, redislock.LevelOK, true},
		{0, time.Millisecond + 1, redislock.LevelOK, false},
		{40 * time.Millisecond, -21 * time.Millisecond, redislock.LevelOK, true},
		{40 * time.Millisecond, -21*time.Millisecond - 1, redislock.LevelOK, false},
		{0, clockWarn, redislock.LevelOK, false},
		{0, -clockWarn - 1, redislock.LevelWarn, false},
	} {
		f := clockOf("", driver.ClockReading{Sent: sent, Received: sent.Add(c.trip), Time: sent.Add(c.trip/2 - c.offset)})
		if agree := f.Text == "this machine's clock agrees with the server's"; agree != c.agree || f.Level != c.level {
			t.Errorf("a trip of %v, off by %v: %v, %s", c.trip, c.offset, f.Level, f.Text)
		}
		if behind := c.offset < 0; !c.agree && behind != strings.HasSuffix(f.Text, " behind the server's") || (f.Level == redislock.LevelWarn) != (f.Fix == syncClocks) {
			t.Errorf("off by %v: %+v", c.offset, f)
		}
	}
}

// Live nodes whose clocks were off are named, at most as many as of each kind.
func TestClocksOf(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	list := ops.NewNodeList(series.MemberList{Now: 1_800_000_000_000}, nil)
	add := func(node string, until int64, ahead *int64) {
		list.Members = append(list.Members, series.Member{Node: node, Until: list.Now + until, Ahead: ahead})
	}
	add("right", 1, ms(-500))
	add("old", 1, nil)
	add("dead", 0, ms(9000))
	add("slow", 1, ms(-501))
	add("fast", 1, ms(2000))
	all := clocksOf(list)
	if len(all) != 2 || all[0].Text != "the clock of slow is 501ms behind the server's" || all[1].Text != "the clock of fast is 2s ahead of the server's" || all[1].Level != redislock.LevelWarn || all[1].Fix == "" {
		t.Errorf("%+v", all)
	}
	for range maxNamed {
		add("more", 1, ms(2000))
	}
	if n := len(clocksOf(list)); n != maxNamed {
		t.Errorf("%d are named", n)
	}
}

// Nodes are to be started only for overdue jobs that no live node has.
func TestAdviceForOverdueTicks(t *testing.T) {
	held, not := ops.OverdueTick{Job: "a", Held: true}, ops.OverdueTick{Job: "b"}
	for want, late := range map[string][]ops.OverdueTick{
		"start nodes that have these jobs; announce a planned stop with cronce pause":                               {not, not},
		"see the log and the /readyz of the nodes that have these jobs":                                             {held, held},
		"start nodes for the jobs that no live node has; for the others see the log and the /readyz of their nodes": {held, not},
	} {
		if got := adviceFor(late); got != want {
			t.Errorf("%+v: %s, want %s", late, got, want)
		}
	}
}

// Of many marks ahead the first are named, and the rest is counted.
func TestFewer(t *testing.T) {
	ahead := make([]redislock.Finding, maxMarks, maxMarks+2)
	if few := fewer(ahead); len(few) != maxMarks || few[maxMarks-1].Text != "" {
		t.Errorf("%+v", few)
	}
	if few := fewer(ahead[:maxMarks+2]); len(few) != maxMarks+1 || few[maxMarks].Text != "and 2 more jobs" || few[maxMarks].Fix != howToRewind || few[maxMarks].Level != redislock.LevelRefuse {
		t.Errorf("%+v", few)
	}
}

// --since must be in the past.
func TestSinceWhen(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "1h": now.Add(-time.Hour), "2027-01-01T00:00:00Z": now, "2026-12-31 12:00": now.Add(-12 * time.Hour),
	} {
		if got, err := sinceWhen(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"2027-01-01T00:00:01Z", "0s", "-1h", "soon"} {
		if got, err := sinceWhen(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Failed ticks are a fault only if requested; a job's youth is reported if its journal reaches back
// to its opening.
func TestFaultOfFailures(t *testing.T) {
	p := &Proof{OK: true, Summary: verify.Sum(verify.Report{Job: "job", Failed: 1})}
	if err := p.fault(""); err != nil {
		t.Error(err)
	}
	if err := p.fault(failOnFailed); !exit.HasCode(err) || exit.Code(err, true) != exit.Failed {
		t.Errorf("%v", p.fault(failOnFailed))
	}
	for _, p := range []*Proof{ // the first has nothing to report
		{OK: true, Summary: verify.Sum(verify.Report{Job: "job", Once: 1})},
		{OK: true, Summary: verify.Sum(verify.Report{Job: "job", Once: 1}), Stalled: []ops.Need{{State: ops.Stuck, Job: "job"}}},
	} {
		if err := p.fault(""); err != nil {
			t.Error(err)
		}
		if err := p.fault(failOnFailed); (err != nil) != (len(p.Stalled) > 0) || err != nil && exit.Code(err, true) != exit.Failed {
			t.Errorf("%d jobs stalled: %v", len(p.Stalled), err)
		}
	}
	begins := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		complete  bool
		ShortTime time.Time
		want      int
	}{
		{true, begins.Add(-1), 1}, {true, begins, 0}, {false, begins.Add(-1), 0}, {true, time.Time{}, 0},
	} {
		if got := openedSince([]verify.Report{{Job: "job", Begins: begins, Complete: c.complete}}, c.ShortTime); len(got) != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A file decides which jobs must not overlap.
func TestVerifyExclusive(t *testing.T) {
	const yaml = "jobs: [{kind: sleep, name: a, spec: '@daily'}, {kind: sleep, name: b, spec: '@daily', overlap: allow}]\n"
	c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(yaml)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := exclusiveJobs(c); !got["a"] || got["b"] || exclusiveJobs(config.Default(nil))["a"] {
		t.Error(got)
	}
}
