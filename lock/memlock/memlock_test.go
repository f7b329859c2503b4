package memlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// misses opens a series and spends n numbers one by one, so that no two lines
// of the journal fold.
func misses(t *testing.T, s *memlock.Store, key string, n int) {
	t.Helper()
	mark := s.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n"}})[0].Mark
	time.Sleep(time.Duration(n+1) * time.Millisecond) // all are late
	for i := range int64(n) {
		c := series.Claim{Key: key, Owner: fmt.Sprint("n/", i), Number: mark + i + 1, After: mark + i, TTL: time.Minute,
			Attempts: 1, Latest: driver.MaxNumber, Revision: fmt.Sprint("r", i%2)}
		if a := s.Claim(t.Context(), []series.Claim{c})[0]; a.Kind != series.KindMissed {
			t.Fatalf("claim %d: %+v", i, a)
		}
	}
}

func journal(t *testing.T, s *memlock.Store, key string) series.Journal {
	t.Helper()
	j, err := s.Journal(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJournalLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memlock.New(memlock.Options{JournalLines: 10})
		misses(t, s, "job", 25)
		j := journal(t, s, "job")
		if len(j.Exceptions) != 2 || len(j.Lines) != 8 || !j.Truncated {
			t.Fatalf("%d exceptions and %d lines are kept, truncated %v, want 2, 8, true", len(j.Exceptions), len(j.Lines), j.Truncated)
		}
		for i, l := range j.Lines[1:] {
			if l.From != j.Lines[i].To {
				t.Fatalf("line %d begins at %d, the one before ends at %d", i+1, l.From, j.Lines[i].To)
			}
		}
	})
}

// When all journals together are full, a series keeps as many lines as it has, and each series
// keeps a few, even if the others leave no room.
func TestJournalTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memlock.New(memlock.Options{JournalTotal: 50})
		for key, want := range []int{41, 16, 16} {
			name := fmt.Sprint("job-", key)
			misses(t, s, name, 40)
			j := journal(t, s, name)
			if n := len(j.Exceptions) + len(j.Lines); n != want || j.Truncated != (want < 41) {
				t.Errorf("series %d keeps %d lines, truncated %v, want %d", key, n, j.Truncated, want)
			}
		}
		misses(t, s, "job-0", 5)
		j := journal(t, s, "job-0")
		if n := len(j.Exceptions) + len(j.Lines); n != 41 || !j.Truncated {
			t.Errorf("the first series keeps %d lines, truncated %v, want 41, true", n, j.Truncated)
		}
	})
}

// The texts of errors of all journals have so many bytes, to the byte, and no more: over them a
// series keeps its newest alone, and no text is left of a line that is gone.
func TestErrorTextsAreBounded(t *testing.T) {
	const most = 100 * 64 // of JournalTotal 100
	for _, c := range []struct {
		lines, text, runs, want, beside int // beside: of a second series
	}{
		{0, 400, 15, 15, 1}, {0, 400, 16, 16, 1}, {0, 400, 17, 16, 1}, // 16 times 400 is the bound
		{0, 401, 16, 15, 1},
		{0, series.MaxErrorText, 40, most / series.MaxErrorText, 1},
		{4, series.MaxErrorText, 40, 4, 3}, // as many as lines: the others have room
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memlock.New(memlock.Options{JournalTotal: 100, JournalLines: c.lines})
			fail(t, s, "job", c.text, c.runs)
			if n, newest := texts(t, s, "job"); n != c.want || !newest {
				t.Errorf("%+v: %d texts are kept, the newest: %v", c, n, newest)
			}
			fail(t, s, "other", c.text, 3)
			if n, newest := texts(t, s, "other"); !newest || n != c.beside {
				t.Errorf("%+v: beside it %d texts are kept, the newest: %v", c, n, newest)
			}
		})
	}
}

// fail lets runs of a series fail, with texts of so many bytes.
func fail(t *testing.T, s *memlock.Store, key string, text, runs int) {
	t.Helper()
	mark := s.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n"}})[0].Mark
	time.Sleep(time.Duration(runs+1) * time.Millisecond)
	for i := range runs {
		c := series.Claim{Key: key, Owner: fmt.Sprint("n/", i), Number: mark + int64(i) + 1, After: mark + int64(i), TTL: time.Minute, Deadline: time.Hour,
			Attempts: 1, Latest: driver.MaxNumber}
		a := s.Claim(t.Context(), []series.Claim{c})[0]
		e := series.EndRequest{RunRef: series.RunRef{Key: key, Number: c.Number, Owner: c.Owner, Fence: a.Fence}, Outcome: series.OutcomeFailed, Error: strings.Repeat("x", text)}
		if ended := s.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !ended.Ended {
			t.Fatalf("run %d: %+v, %+v", i, a, ended)
		}
	}
}

// texts counts the lines of a journal that say why a run failed, and reports whether the newest does.
func texts(t *testing.T, s *memlock.Store, key string) (n int, newest bool) {
	t.Helper()
	for _, l := range journal(t, s, key).Lines {
		if newest = l.Error != ""; newest {
			n++
		}
	}
	return n, newest
}

// Leases that nobody releases do not pile up.
func TestExpiredLeasesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s memlock.Store
		for i := range 20_000 {
			a := driver.Acquisition{Key: fmt.Sprint("key ", i), Owner: "n/1", TTL: driver.MinTTL}
			if _, err := s.Acquire(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := s.Leases(); n > 1100 {
			t.Errorf("%d leases are kept, about 500 are alive", n)
		}
	})
}

// The clock given to the store judges its leases.
func TestNow(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	a := driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Second}
	if _, err := s.Acquire(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	now = now.Add(999 * time.Millisecond)
	a.Owner = "b/1"
	if _, err := s.Acquire(t.Context(), a); err == nil {
		t.Fatal("granted to another owner before the deadline")
	}
	now = now.Add(time.Millisecond)
	if _, err := s.Acquire(t.Context(), a); err != nil {
		t.Fatalf("at the deadline: %v", err)
	}
}

// Fences grow also when no time passes between a release and the next grant.
func TestFenceInOneInstant(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	last := int64(0)
	for range 5 {
		g, err := s.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Second})
		if err != nil || g.Fence <= last {
			t.Fatalf("the fence is %d, after %d: %v", g.Fence, last, err)
		}
		last = g.Fence
		if err := s.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "a/1"}); err != nil {
			t.Fatal(err)
		}
	}
}

// A waiter that gives up lets those behind it in at once, not when they look.
func TestGivingUpWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s memlock.Store
		a := driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Minute, Limit: driver.NoLimit}
		if _, err := s.Acquire(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer stop()
		go func() { _, _ = s.Wait(ctx, driver.Acquisition{Key: "key", Owner: "writer/1", TTL: time.Minute}) }()
		synctest.Wait()
		start := time.Now()
		a.Owner = "b/1"
		if _, err := s.Wait(t.Context(), a); err != nil || time.Since(start) != 300*time.Millisecond {
			t.Errorf("granted after %v: %v", time.Since(start), err)
		}
	})
}

// In any order of opening and reading, each series is found, a key that was never opened is not,
// and a store that forgot its data finds none.
func TestLooksInAnyOrder(t *testing.T) {
	t.Parallel()
	s := memlock.New(memlock.Options{Now: func() time.Time { return time.UnixMilli(1) }})
	name := func(i int) string { return fmt.Sprintf("key-%02d", i) }
	for range 3 {
		marks := map[string]int64{}
		for _, i := range rand.Perm(20) {
			marks[name(i)] = int64(100 + i)
			s.Open(t.Context(), []series.OpenRequest{{Key: name(i), Node: "a", Mark: marks[name(i)]}})
		}
		for range 10 {
			keys := make([]string, 0, 25)
			for _, i := range rand.Perm(25) { // five of them were never opened
				keys = append(keys, name(i))
			}
			if rand.IntN(2) == 0 {
				slices.Sort(keys)
			}
			for i, got := range s.ReadSeries(t.Context(), keys) {
				if want := marks[keys[i]]; got.Err != nil || got.Mark != want {
					t.Fatalf("%s has mark %d, want %d: %v", keys[i], got.Mark, want, got.Err)
				}
			}
		}
		s.Forget()
		for key := range marks {
			if got := s.ReadSeries(t.Context(), []string{key}); got[0].Mark != 0 {
				t.Fatalf("%s was forgotten, and has mark %d", key, got[0].Mark)
			}
		}
	}
}
