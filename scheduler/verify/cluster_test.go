package verify_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// work takes a random time around mean, and fails now and then.
func work(mean time.Duration) scheduler.Func {
	return func(ctx context.Context, _ *scheduler.Run) error {
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(2 * mean)))):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func clusterJobs(changed bool) []scheduler.Job {
	text := "0/7 * * * * *"
	if changed {
		text = "0/9 * * * * *"
	}
	jobs := []scheduler.Job{
		{Name: "skip", Overlap: scheduler.OverlapSkip, Func: work(6 * time.Second)},
		{Name: "queue", Overlap: scheduler.OverlapQueue, Func: work(3900 * time.Millisecond)},
		{Name: "allow", Overlap: scheduler.OverlapAllow, Func: work(12 * time.Second)},
		{Name: "replace", Overlap: scheduler.OverlapReplace, Func: work(3900 * time.Millisecond)},
		{Name: "backlog", Misfire: scheduler.MisfireAll, Func: work(6 * time.Second)},
		{Name: "lax", Misfire: scheduler.MisfireSkip, Takeover: scheduler.TakeoverRerun, Jitter: 3 * time.Second, Func: work(time.Second)},
	}
	for i := range jobs {
		jobs[i].Spec, jobs[i].Lease = text, 3*time.Second
	}
	return jobs
}

// Three nodes run jobs of every policy on memory for ten minutes. They are restarted one after the
// other with a changed spec, and all of them are away for two minutes. Every journal is sound while
// they run and at the end.
func TestClusterHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New(memlock.Options{})
		var nodes sync.WaitGroup
		start := func(changed bool) (stop context.CancelFunc) {
			n, err := scheduler.New(scheduler.Config{Name: "n", Store: store, Jobs: clusterJobs(changed), Grace: 4 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			nodes.Go(func() { _ = n.Run(ctx) })
			return stop
		}
		stops := []context.CancelFunc{start(false), start(false), start(false)}
		watch(t, store, 3*time.Minute)
		for i := range stops {
			stops[i]()
			stops[i] = start(true)
			watch(t, store, 20*time.Second)
		}
		for _, stop := range stops {
			stop()
		}
		nodes.Wait()
		time.Sleep(2 * time.Minute)
		stops = []context.CancelFunc{start(true), start(true)}
		watch(t, store, 4*time.Minute)
		for _, stop := range stops {
			stop()
		}
		nodes.Wait()
		for _, r := range verifyAll(t, store) {
			if r.Once < 20 || r.Due < 75 || r.Due > 95 || !r.Complete { // ten minutes of a tick each 7, then 9 seconds
				t.Errorf("%s: %+v", r.Job, r)
			}
		}
	})
}

// watch verifies every job now and then while time passes.
func watch(t *testing.T, store *memlock.Store, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(777 * time.Millisecond)
		verifyAll(t, store)
	}
}

func verifyAll(t *testing.T, store *memlock.Store) (all []verify.Report) {
	keys, err := store.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		j, err := store.Journal(t.Context(), key, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Job(j, verify.Options{Now: time.Now(), Exclusive: key != "allow"})
		if !r.OK() {
			t.Fatalf("%s: %v\n%s", key, r.Violations, last(j, 12))
		}
		all = append(all, r)
	}
	return all
}

// last writes the newest lines of a journal.
func last(j series.Journal, n int) string {
	var b strings.Builder
	for _, l := range j.Lines[max(0, len(j.Lines)-n):] {
		b.WriteString(string(l.Verdict) + " " + instant(l.From).Format("15:04:05.000") + " " + instant(l.To).Format("15:04:05.000") +
			" at " + instant(l.At).Format("15:04:05.000") + " " + string(l.Between) + " " + l.Reason + " " + l.Outcome + " " + l.Node + "\n")
	}
	return b.String()
}
