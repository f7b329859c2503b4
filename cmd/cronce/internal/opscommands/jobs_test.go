package opscommands

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/spec"
)

// The next tick is shown as skipped only if it is the one that an operator skips.
func TestNextOf(t *testing.T) {
	now := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	for want, v := range map[string]ops.JobView{
		"-":                 {Skip: now},
		"in 5.0 s":          {Next: now.Add(5 * time.Second)},
		"in 6.0 s":          {Next: now.Add(6 * time.Second), Skip: now.Add(time.Hour)},
		"in 7.0 s, skipped": {Next: now.Add(7 * time.Second), Skip: now.Add(7 * time.Second)},
	} {
		if got := nextOf(&v, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A tick that an operator let a job skip is named as skipped only while the spec in force has it.
func TestSkips(t *testing.T) {
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"@hourly":    "The tick of 2026-01-05T03:00:00Z will be skipped, as an operator requested.",
		"30 * * * *": "An operator requested to skip the tick of 2026-01-05T03:00:00Z, which the spec in force does not have: no tick is skipped.",
		"":           "The tick of 2026-01-05T03:00:00Z will be skipped, as an operator requested.", // the spec is not known
	} {
		schedule, _ := spec.Parse(text, time.UTC)
		if got := skips(&ops.Job{Schedule: schedule, Series: series.Series{Skip: tick.UnixMilli()}}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A store grants a tick up to 20 ms early, but no run is shown as older than its tick.
func TestRunIsNotOlderThanItsTick(t *testing.T) {
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	left := int64(4000)
	r := ops.Run{State: ops.Running, Tick: ops.InstantOf(tick), Granted: ops.InstantOf(tick.Add(-2 * time.Millisecond)), LeftMs: &left}
	for after, want := range map[time.Duration]string{
		time.Second:       "lease for 4000 ms more; alive since 03:00:00 (1.0 s)",
		-time.Millisecond: "lease for 4000 ms more; alive since 03:00:00 (0 ms)",
	} {
		if got := remark(&r, tick.Add(after)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	left = 0
	r.State = ops.Waiting
	if got, want := remark(&r, tick), "its lease ended"; got != want {
		t.Errorf("of a run whose node was lost: %q, want %q", got, want)
	}
}

// A verdict has its outcome or its reason, and a tick that runs its state.
func TestVerdictOf(t *testing.T) {
	for want, r := range map[string]ops.Run{
		"failed":           {Verdict: "ran", Outcome: "failed", State: ops.Running},
		"running":          {Verdict: "ran", State: ops.Running},
		"missed (misfire)": {Verdict: "missed", Reason: "misfire"},
		"paused":           {Verdict: "paused", State: ops.Paused},
	} {
		if got := verdictOf(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A remark has the facts of a run that no other column has.
func TestRemark(t *testing.T) {
	now := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) ops.Instant { return ops.InstantOf(now.Add(-ago)) }
	left, none, two := int64(4000), 0, 2
	for want, r := range map[string]ops.Run{
		"": {Outcome: "ok", LeftMs: &left, State: ops.OK},
		"lease for 4000 ms more; alive since 02:59:50 (10 s); 2 ticks went by":    {State: ops.Running, Tick: at(10 * time.Second), LeftMs: &left, Behind: &two},
		"1 of 2 shards ok, 1 running; alive since 02:59:50 (10 s)":                {State: ops.Running, Tick: at(10 * time.Second), LeftMs: &left, Behind: &none, Shards: &ops.ShardCount{Of: 2, OK: 1, Running: 1}},
		"with all ticks after 02:58:00":                                           {Verdict: "missed", Between: "missed", From: at(2 * time.Minute)},
		"no route; because of the run of 02:59:00; ticks after 02:58:00: skipped": {Error: "no route", Blocker: at(time.Minute), Between: "skipped", From: at(2 * time.Minute)},
	} {
		if got := remark(&r, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A tick is shown with the work that it does, and as manual if an operator requested it.
func TestTickOf(t *testing.T) {
	now := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	for want, r := range map[string]ops.Run{
		"03:00:00":                  {Tick: ops.InstantOf(now)},
		"03:00:00.417 manual":       {Tick: ops.InstantOf(now.Add(417 * time.Millisecond)), Manual: true},
		"03:00:00.417 for 02:00:00": {Tick: ops.InstantOf(now.Add(417 * time.Millisecond)), Manual: true, For: ops.InstantOf(now.Add(-time.Hour))},
	} {
		if got := tickOf(&r, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cause is cut to its bound, and not before it.
func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "ärger": "ärger", "ärgern": "ärge…"} {
		if got := cut(text, 5); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
