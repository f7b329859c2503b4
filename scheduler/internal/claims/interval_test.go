package claims

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
	"github.com/cronce/cronce/scheduler/spec"
)

// A claim has the interval of its own tick. A manual run has the interval of the tick before it, also
// after a reload has given the entry another job.
func TestIntervalOfAClaim(t *testing.T) {
	hourly, err := spec.Parse("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	minutely, err := spec.Parse("* * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC).UnixMilli()
	claimed, reloaded := &job.Job{Spec: hourly}, &job.Job{Spec: minutely}
	for name, current := range map[string]*job.Job{"the same job": claimed, "a reloaded job": reloaded} {
		for kind, number := range map[string]int64{"tick": tick, "manual run": tick + 59*60_000 + 1} {
			p := &Pending{job: claimed, e: &entry{Entry: timetable.Entry{Job: current}}, tick: number}
			if got := p.interval(); got != time.Hour {
				t.Errorf("%s of %s: %v", kind, name, got)
			}
		}
	}
}
