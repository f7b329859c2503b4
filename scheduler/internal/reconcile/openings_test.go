package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// A job that could not be opened is retried after its pause, which doubles up to a minute. Jobs
// that were not tried yet come first, and of the others the one that has waited longest.
func TestOpenings(t *testing.T) {
	t.Parallel()
	var b openings
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	broken := errors.New("broken")
	e := named("a")
	b.add(e)
	if got := b.take(now); len(got) != 1 || len(b.take(now)) != 0 {
		t.Fatalf("took %v", got)
	}
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		b.failed(e, broken, now)
		b.add(e) // it still waits
		now = now.Add(pause*time.Second - 1)
		if got := b.take(now); len(got) != 0 {
			t.Fatalf("tried again before %v s were over", int64(pause))
		}
		now = now.Add(1)
		if got := b.take(now); len(got) != 1 || got[0] != e {
			t.Fatalf("not tried again after %v s", int64(pause))
		}
	}
	for i := range openRetries + 100 {
		b.failed(named(fmt.Sprint(i)), broken, now.Add(time.Duration(i)*time.Millisecond))
	}
	fresh := named("fresh")
	b.add(fresh)
	got := b.take(now.Add(time.Hour))
	if len(got) != 1+openRetries || got[0] != fresh || got[1] != e || got[2].Name != "0" {
		t.Errorf("took %d, first %q, %q, %q", len(got), got[0].Name, got[1].Name, got[2].Name)
	}
	b.done(e)
	b.done(fresh) // it was not pending
	if got := b.take(now.Add(time.Hour)); len(got) != openRetries || got[0].Name != "0" || len(b.order) != len(b.pending) || len(b.order) != openRetries+100 {
		t.Errorf("after one was opened, took %d, first %q, of %d", len(got), got[0].Name, len(b.order))
	}
	for _, j := range []*job.Job{got[2], got[openRetries]} {
		b.done(j)
		if slices.Contains(b.take(now.Add(time.Hour)), j) {
			t.Errorf("%q was opened, and taken again", j.Name)
		}
	}
	byName := func(x, y pending) int { return cmp.Compare(x.job.Name, y.job.Name) }
	if some := b.some(); len(some) != health.MostListed || some[0].job.Name != "1" || !slices.IsSortedFunc(some, byName) || !errors.Is(some[0].err, broken) {
		t.Errorf("named are %v", some)
	}
}

func named(name string) *job.Job {
	return &job.Job{Name: name}
}
