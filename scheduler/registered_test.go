package scheduler_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A job costs at most 190 bytes beyond its name and its parsed spec.
func TestBytesPerEntry(t *testing.T) {
	const jobs = 100_000
	all := make([]scheduler.Job, jobs)
	for i := range all {
		all[i] = scheduler.Job{Name: fmt.Sprintf("job-%06d", i), Spec: "@every 1h", Func: func(context.Context, *scheduler.Run) error { return nil }}
	}
	before := heapInUse()
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: all})
	if err != nil {
		t.Fatal(err)
	}
	each := float64(heapInUse()-before) / jobs
	runtime.KeepAlive(all)
	runtime.KeepAlive(n)
	if each > 190 {
		t.Errorf("%.0f bytes per job, want at most 190", each)
	}
	t.Logf("%.0f bytes per job", each)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkAdd measures the cost of adding a job to a timetable of 100,000.
func BenchmarkAdd(b *testing.B) {
	f := func(context.Context, *scheduler.Run) error { return nil }
	all := make([]scheduler.Job, 100_000)
	for i := range all {
		all[i] = scheduler.Job{Name: fmt.Sprintf("job-%06d", i), Spec: "@every 1h", Func: f}
	}
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: all})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := n.Add(scheduler.Job{Name: fmt.Sprintf("more-%d", i), Spec: "@every 1h", Func: f}); err != nil {
			b.Fatal(err)
		}
	}
}
