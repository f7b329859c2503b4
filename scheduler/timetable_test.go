package scheduler

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/spec"
)

// Whatever is pushed and reset in whatever order, entries come out by instant, and
// each is there once.
func TestTimetableSorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table timetable
		var want []int64
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := rapid.Int64Range(1, 50).Draw(t, "at")
				table.push(&entry{next: at}, at)
				want = append(want, at)
			},
			"reset": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				at := rapid.Int64Range(0, 60).Draw(t, "to") // 0 takes it out
				table.slots[0].e.next = at
				table.reset(at)
				want[slices.Index(want, slices.Min(want))] = at
				want = slices.DeleteFunc(want, func(at int64) bool { return at == 0 })
			},
			"": func(t *rapid.T) {
				least := int64(0)
				if len(want) > 0 {
					least = slices.Min(want)
				}
				if got := table.top(); got != least || len(table.slots) != len(want) {
					t.Fatalf("%d entries, the first at %d; want %d and %d", len(table.slots), got, len(want), least)
				}
				for _, s := range table.slots {
					if s.at != s.e.next {
						t.Fatalf("the entry of %d stands at %d", s.e.next, s.at)
					}
				}
			},
		})
	})
}

// Entries that are due together come in the order in which they were pushed, also
// after each has gone on to its next instant, and after all were moved.
func TestTimetableKeepsOrder(t *testing.T) {
	t.Parallel()
	var table timetable
	all := make([]*entry, 1000)
	for i := range all {
		all[i] = new(entry)
		table.push(all[i], int64(1+i%2))
	}
	table.resetAll(func(*entry) int64 { return 1 })
	for now := range int64(5) {
		for i, e := range all {
			if got := table.slots[0]; got.e != e || got.at != 1+now {
				t.Fatalf("at %d entry %d comes instead of entry %d", 1+now, slices.Index(all, got.e), i)
			}
			table.reset(2 + now)
		}
	}
}

// A woken timetable hands out the latest tick that is due, and tells the one
// before it; ticks between are found by the store.
func TestAdvance(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	for _, test := range []struct {
		name        string
		jitter      time.Duration
		at          int64 // when it wakes; the entry waits for minute 1
		tick, after int64
	}{
		{"on time", 0, 1 * minute, 1 * minute, 0},
		{"a little late", 0, 2*minute - 1, 1 * minute, 0},
		{"an hour late", 0, 61*minute + 5, 61 * minute, 60 * minute},
		{"with jitter", 30 * time.Second, 2*minute + 30_000, 2 * minute, 1 * minute},
		{"late, and inside the jitter of the latest", 30 * time.Second, 4 * minute, 3 * minute, 2 * minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := entryOf(t, "* * * * *", test.jitter)
			e.start(0)
			tick, after, ok := e.advance(test.at)
			if !ok || tick != test.tick || after != test.after || e.prev != tick || e.next != tick+minute {
				t.Errorf("advance(%d) = %d after %d, %v; want %d after %d. Then prev %d, next %d", test.at, tick, after, ok, test.tick, test.after, e.prev, e.next)
			}
		})
	}
}

// Jitter is the same wherever it is computed, and below its bound.
func TestDueAt(t *testing.T) {
	t.Parallel()
	a, b := entryOf(t, "* * * * *", 30*time.Second), entryOf(t, "* * * * *", 30*time.Second)
	seen := map[int64]bool{}
	for tick := int64(60_000); tick < 600*60_000; tick += 60_000 {
		due := a.dueAt(tick)
		if due != b.dueAt(tick) || due < tick || due > tick+30_000 {
			t.Fatalf("tick %d is due at %d and at %d", tick, due, b.dueAt(tick))
		}
		seen[due-tick] = true
	}
	if len(seen) < 500 {
		t.Errorf("%d different delays of 599", len(seen))
	}
}

// Where ticks are closer than the jitter each is due before the next, and as late as a
// millisecond before it.
func TestDueBeforeTheNext(t *testing.T) {
	t.Parallel()
	e := entryOf(t, "* * * * * *", time.Hour)
	latest := int64(0)
	for tick := int64(1_000); tick < 20_000_000; tick += 1_000 {
		latest = max(latest, e.dueAt(tick)-tick)
	}
	if latest != 999 {
		t.Errorf("a tick is due up to %d ms after its instant, want 999", latest)
	}
}

func entryOf(t testing.TB, text string, jitter time.Duration) *entry {
	t.Helper()
	s, err := spec.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &entry{name: "a", spec: s, rules: &rules{jitter: jitter}, hash: rendezvous.Hash("a")}
}

// A job costs at most 190 bytes beyond its name and its parsed spec.
func TestBytesPerEntry(t *testing.T) {
	const jobs = 100_000
	all := make([]Job, jobs)
	for i := range all {
		all[i] = Job{Name: fmt.Sprintf("job-%06d", i), Spec: "@every 1h", Func: func(context.Context, *Run) error { return nil }}
	}
	before := heapInUse()
	n, err := New(Config{Name: "n", Store: new(memlock.Store), Jobs: all})
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

// What a wake costs the timetable: handing out one tick and arming the next.
func BenchmarkWake(b *testing.B) {
	for _, jobs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			var table timetable
			for i := range jobs {
				e := entryOf(b, "@every 1h", 0)
				e.start(int64(i) * 3_600_000 / int64(jobs))
				table.push(e, e.next+int64(i)*3_600_000/int64(jobs))
			}
			b.ReportAllocs()
			for b.Loop() {
				e := table.slots[0].e
				at := table.top()
				e.advance(at)
				table.reset(at + 3_600_000)
			}
		})
	}
}

// What it costs to add a job to a timetable of 100,000.
func BenchmarkAdd(b *testing.B) {
	f := func(context.Context, *Run) error { return nil }
	all := make([]Job, 100_000)
	for i := range all {
		all[i] = Job{Name: fmt.Sprintf("job-%06d", i), Spec: "@every 1h", Func: f}
	}
	n, err := New(Config{Name: "n", Store: new(memlock.Store), Jobs: all})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := n.Add(Job{Name: fmt.Sprintf("more-%d", i), Spec: "@every 1h", Func: f}); err != nil {
			b.Fatal(err)
		}
	}
}
