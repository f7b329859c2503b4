package timetable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// However entries are pushed and reset, they are handed out in the order of their instants, each
// once.
func TestTimetableSorts(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 1000 {
		var table Table
		var next []int64 // by entry
		var want []int64
		for range r.IntN(60) {
			if len(want) == 0 || r.IntN(2) == 0 {
				at := 1 + r.Int64N(50)
				table.Push(uint32(len(next)), at)
				next = append(next, at)
				want = append(want, at)
			} else {
				at := r.Int64N(61) // 0 removes it
				next[table.First()] = at
				table.Reset(at)
				want[slices.Index(want, slices.Min(want))] = at
				want = slices.DeleteFunc(want, func(at int64) bool { return at == 0 })
			}
			least := int64(0)
			if len(want) > 0 {
				least = slices.Min(want)
			}
			if got := table.Next(); got != least || len(table.slots) != len(want) {
				t.Fatalf("seed %d, round %d: %d entries, the first at %d; want %d and %d", seed, round, len(table.slots), got, len(want), least)
			}
			for _, s := range table.slots {
				if s.at != next[s.no] {
					t.Fatalf("seed %d, round %d: the entry of %d stands at %d", seed, round, s.no, s.at)
				}
			}
		}
	}
}

// Entries that are due together are handed out in the order in which they were pushed, also after
// each has advanced to its next instant, and after all were moved.
func TestTimetableKeepsOrder(t *testing.T) {
	t.Parallel()
	var table Table
	const entries = 1000
	for i := range entries {
		table.Push(uint32(i), int64(1+i%2))
	}
	table.ResetAll(func(int) int64 { return 1 })
	for now := range int64(5) {
		for i := range entries {
			if table.First() != i || table.Next() != 1+now {
				t.Fatalf("at %d entry %d comes instead of entry %d", 1+now, table.First(), i)
			}
			table.Reset(2 + now)
		}
	}
}

// Without the entries that are removed, the others are handed out in their order. One that is never due is not.
func TestRemove(t *testing.T) {
	t.Parallel()
	var table Table
	for i := range 100 {
		table.Push(uint32(i), int64(1+i*37%100)) // 37 is prime to 100
	}
	table.Push(100, 0)
	table.Remove(func(no int) bool { return no%3 == 0 && no < 100 })
	for at := int64(1); at <= 100; at++ {
		no := int(at-1) * 73 % 100 // 37 times 73 is 1 more than a multiple of 100
		if no%3 == 0 {
			continue
		}
		if table.First() != no || table.Next() != at {
			t.Fatalf("entry %d comes at %d, want entry %d at %d", table.First(), table.Next(), no, at)
		}
		table.Reset(0)
	}
	if got := table.Next(); got != 0 || table.First() != 100 {
		t.Errorf("entry %d comes at %d, want none", table.First(), got)
	}
}

// After the last tick of a spec nothing is due, with jitter or without.
func TestAdvancePastTheLastTick(t *testing.T) {
	t.Parallel()
	for _, jitter := range []time.Duration{0, time.Minute} {
		e := entryOf(t, "@at 2026-01-01T00:00", jitter)
		last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		e.Start(last - 1)
		if e.Next() != last || e.Due() != e.DueAt(last) {
			t.Errorf("jitter %v: the next tick is %d, due at %d; want %d at %d", jitter, e.Next(), e.Due(), last, e.DueAt(last))
		}
		if got, ok := e.Advance(e.Due()); !ok || got.Number != last {
			t.Fatalf("it hands out %v, %v; want %d", got, ok, last)
		}
		if due, next := e.Due(), e.Next(); due != 0 || next != 0 {
			t.Errorf("jitter %v: the next tick is %d, due at %d; want none", jitter, next, due)
		}
		if got, ok := e.Advance(last + 3_600_000); ok {
			t.Errorf("jitter %v: it hands out %v again", jitter, got)
		}
	}
}

// A timetable that wakes hands out the latest tick that is due, with the tick before it. The store
// finds the ticks in between.
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
			e.Start(0)
			got, ok := e.Advance(test.at)
			if !ok || got != (Tick{test.tick, test.after}) || e.last != test.tick || e.next != test.tick+minute {
				t.Errorf("advance(%d) = %d after %d, %v; want %d after %d. Then prev %d, next %d", test.at, got.Number, got.After, ok, test.tick, test.after, e.last, e.next)
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
		due := a.DueAt(tick)
		if due != b.DueAt(tick) || due < tick || due > tick+30_000 {
			t.Fatalf("tick %d is due at %d and at %d", tick, due, b.DueAt(tick))
		}
		seen[due-tick] = true
	}
	if len(seen) < 500 {
		t.Errorf("%d different delays of 599", len(seen))
	}
}

// If ticks are closer than the jitter, each is due before the next one, at most a millisecond
// before it.
func TestDueBeforeTheNext(t *testing.T) {
	t.Parallel()
	e := entryOf(t, "* * * * * *", time.Hour)
	latest := int64(0)
	for tick := int64(1_000); tick < 20_000_000; tick += 1_000 {
		latest = max(latest, e.DueAt(tick)-tick)
	}
	if latest != 999 {
		t.Errorf("a tick is due up to %d ms after its instant, want 999", latest)
	}
}

func entryOf(t testing.TB, text string, jitter time.Duration) *Entry {
	t.Helper()
	s, err := spec.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := job.New("a", s, &job.Rules{Policy: policy.Record{Jitter: jitter}}, 0, 0)
	return &Entry{Job: &j}
}

// BenchmarkWake measures the timetable's part of a wake: handing out one tick and arming the next.
func BenchmarkWake(b *testing.B) {
	for _, jobs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			var table Table
			var entries job.Rows[Entry]
			for i := range jobs {
				e := entries.Add()
				*e = *entryOf(b, "@every 1h", 0)
				e.Start(int64(i) * 3_600_000 / int64(jobs))
				table.Push(uint32(i), e.next+int64(i)*3_600_000/int64(jobs))
			}
			b.ReportAllocs()
			for b.Loop() {
				at := table.Next()
				entries.At(table.First()).Advance(at)
				table.Reset(at + 3_600_000)
			}
		})
	}
}

// A node that starts at ms hands out the ticks that are not due by then. At the very end of a
// tick's jitter the tick is due.
func TestStartAtTheEndOfJitter(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	e := entryOf(t, "* * * * *", 40*time.Second)
	for tick := int64(5 * minute); tick < 50*minute; tick += minute {
		due := e.DueAt(tick)
		for _, test := range []struct{ at, prev int64 }{{tick, tick - minute}, {due - 1, tick - minute}, {due, tick}, {due + 1, tick}, {tick + minute - 1, tick}} {
			if test.at == tick && due == tick {
				continue
			}
			if e.Start(test.at); e.last != test.prev || e.next != test.prev+minute {
				t.Errorf("at %d, tick %d due at %d: prev %d, next %d; want prev %d", test.at, tick, due, e.last, e.next, test.prev)
			}
		}
	}
}
