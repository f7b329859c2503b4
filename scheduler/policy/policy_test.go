package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/policy"
)

func TestWithin(t *testing.T) {
	const minute = time.Minute
	for _, c := range []struct {
		name     string
		record   policy.Record
		interval time.Duration
		want     time.Duration
	}{
		{"the interval", policy.Record{}, minute, minute},
		{"at least a second", policy.Record{}, 100 * time.Millisecond, time.Second},
		{"of the last tick of all", policy.Record{}, 0, time.Hour},
		{"at most an hour", policy.Record{}, 24 * time.Hour, time.Hour},
		{"as configured", policy.Record{Deadline: 5 * time.Second}, minute, 5 * time.Second},
		{"jitter comes on top of the interval", policy.Record{Jitter: 7 * time.Second}, minute, minute + 7*time.Second},
		{"and of what is configured", policy.Record{Deadline: time.Second, Jitter: 7 * time.Second}, minute, 8 * time.Second},
		{"of a broadcast", policy.Record{Broadcast: true}, 10 * time.Second, 10 * time.Second},
		{"of a broadcast, at most a minute", policy.Record{Broadcast: true, Jitter: time.Second}, 2 * minute, minute + time.Second},
		{"of a broadcast with jitter, before the next tick", policy.Record{Broadcast: true, Jitter: 20 * time.Second}, minute, minute},
		{"of a broadcast with jitter, once a day", policy.Record{Broadcast: true, Jitter: 2 * time.Hour}, 24 * time.Hour, 2*time.Hour + minute},
		{"of a broadcast with as much jitter as there is", policy.Record{Broadcast: true, Jitter: minute - 1}, minute, minute - 1 + time.Second},
		{"of the last tick of a broadcast", policy.Record{Broadcast: true, Jitter: time.Second}, 0, minute + time.Second},
		{"of a broadcast, as configured", policy.Record{Broadcast: true, Deadline: 2 * minute}, minute, 2 * minute},
		{"misfire skip", policy.Record{Misfire: policy.Skip, Jitter: 7 * time.Second}, minute, 8 * time.Second},
		{"misfire all", policy.Record{Misfire: policy.All, Jitter: time.Second}, minute, 10*minute + time.Second},
		{"misfire all, often", policy.Record{Misfire: policy.All}, 100 * time.Millisecond, 10 * time.Second},
		{"without a bound", policy.Record{Deadline: math.MaxInt64, Jitter: 5 * time.Second}, minute, math.MaxInt64},
		{"misfire all of what is rare", policy.Record{Misfire: policy.All, Jitter: time.Second}, 100 * 365 * 24 * time.Hour, math.MaxInt64},
		{"misfire all, as configured", policy.Record{Misfire: policy.All, Deadline: minute}, minute, minute},
	} {
		if got := c.record.Within(c.interval); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		record policy.Record
		text   string
	}{
		{policy.Record{}, ""},
		{policy.Record{Overlap: policy.Skip, Misfire: policy.Once}, "overlap:skip/misfire:once"},
		{policy.Record{Overlap: policy.Skip, Timeout: 2 * time.Second}, "overlap:skip/timeout:2s"},
		{policy.Record{Overlap: policy.Skip, Limit: policy.Limit{Name: "reports", Of: 3}}, "overlap:skip/limit:reports*3"},
		{policy.Record{Overlap: policy.Skip, Crontab: true}, "overlap:skip/callers:crontab"},
		{policy.Record{Overlap: policy.Skip, Broadcast: true}, "overlap:skip/nodes:all"},
		{policy.Record{Overlap: policy.Allow, Misfire: policy.All, Deadline: 90 * time.Second, Jitter: 1500 * time.Millisecond},
			"overlap:allow/misfire:all/deadline:1m30s/jitter:1.5s"},
	} {
		if got := c.record.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
		if got, err := policy.Parse(c.text); got != c.record || err != nil {
			t.Errorf("%q: got %+v, %v", c.text, got, err)
		}
	}
	if got, err := policy.Parse("new:1/overlap:queue/what"); got != (policy.Record{Overlap: policy.Queue}) || err != nil {
		t.Errorf("of a newer version: got %+v, %v", got, err)
	}
	for _, text := range []string{"deadline:", "deadline:soon/jitter:1s", "overlap:skip/jitter:-1s", "deadline:x/deadline:1s", "deadline:x/limit:a*1", "limit:", "limit:a", "limit:a*0", "limit:a*x", "limit:*3"} {
		if _, err := policy.Parse(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	want := "policies: \"deadline:soon\" is no duration of 0 or more\n" +
		"policies: \"limit:a\" is no limit, such as reports*3\n" +
		"policies: \"jitter:x\" is no duration of 0 or more"
	if _, err := policy.Parse("deadline:soon/limit:a/timeout:1s/jitter:x"); err == nil || err.Error() != want {
		t.Errorf("several faults: got %v, want %s", err, want)
	}
}

// The nodes of all versions compute the same time.
func TestDueAt(t *testing.T) {
	jittered := policy.Record{Jitter: 30 * time.Second}
	for _, c := range []struct {
		name   string
		record policy.Record
		next   int64
		want   [4]int64 // after the tick
	}{
		{"no jitter", policy.Record{}, 160_000, [4]int64{}},
		{"jitter", jittered, 160_000, [4]int64{15_855, 3_313, 28_259, 16_976}},
		{"jitter of the last tick", jittered, 0, [4]int64{15_855, 3_313, 28_259, 16_976}},
		{"a next tick within the jitter", jittered, 101_000, [4]int64{352, 404, 942, 299}},
		{"a next tick that follows at once", jittered, 100_001, [4]int64{}},
	} {
		for i, job := range []string{"a", "b", "c", "d"} {
			if due := c.record.DueAt(job, 100_000, c.next) - 100_000; due != c.want[i] {
				t.Errorf("%s of %s: due %d ms after its instant, want %d", c.name, job, due, c.want[i])
			}
		}
	}
}
