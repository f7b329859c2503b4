package spec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/scheduler/spec"
)

// rounds is how many random cases each test has.
const rounds = 200

// drawField draws a field of values from min to max.
func drawField(r *rand.Rand, min, max int) string {
	if r.IntN(4) == 0 {
		return rig.OneOf(r, "*", "?")
	}
	items := make([]string, rig.Between(r, 1, 3))
	for i := range items {
		items[i] = drawItem(r, min, max)
	}
	return strings.Join(items, ",")
}

func drawItem(r *rand.Rand, min, max int) string {
	low, high, step := rig.Between(r, min, max), rig.Between(r, min, max), rig.Between(r, 1, max-1)
	if low > high {
		low, high = high, low
	}
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("*/%d", step)
	case 1:
		return fmt.Sprintf("%d-%d", low, high)
	case 2:
		return fmt.Sprintf("%d-%d/%d", low, high, step)
	case 3:
		return fmt.Sprintf("%d/%d", low, step)
	}
	return fmt.Sprint(low)
}

// drawSpec draws six fields in robfig's grammar.
func drawSpec(r *rand.Rand) string {
	return strings.Join([]string{
		drawField(r, 0, 59), drawField(r, 0, 59), drawField(r, 0, 23), drawField(r, 1, 31), drawField(r, 1, 12), drawField(r, 0, 6),
	}, " ")
}

var robfig = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func drawTime(r *rand.Rand) time.Time {
	first, last := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	return time.Unix(first.Unix()+r.Int64N(last.Unix()-first.Unix()+1), r.Int64N(1e9))
}

// Where clocks do not change, ticks are those of robfig/cron.
func TestEqualsRobfig(t *testing.T) {
	t.Parallel()
	names := zoneNames(t)
	rig.Random(t, rand.Uint64(), rounds, func(r *rand.Rand) {
		text := drawSpec(r)
		loc, err := time.LoadLocation(rig.OneOf(r, names...))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := robfig.Parse("TZ=" + loc.String() + " " + text)
		if err != nil {
			t.Fatal(err)
		}
		at := drawTime(r)
		ours, err := spec.Parse(text, loc)
		if err != nil {
			if next := theirs.Next(at); !strings.Contains(err.Error(), "never fires") || !next.IsZero() {
				t.Fatalf("%v, but robfig has %v", err, next)
			}
			return
		}
		for range 10 {
			want := theirs.Next(at)
			month := time.Date(at.In(loc).Year(), at.In(loc).Month(), 1, 0, 0, 0, 0, loc) // it counts months from here
			if want.IsZero() || len(changes(loc, month.AddDate(0, 0, -2), want.AddDate(0, 0, 2))) > 0 {
				return // it gives up after five years, and is wrong around changes
			}
			if _, offset := want.In(loc).Zone(); offset%60 != 0 {
				return // Monrovia's until 1972; it takes minutes to begin with UTC's
			}
			if at = ours.Next(at); !at.Equal(want) {
				t.Fatalf("%q in %v: %v, robfig has %v", text, loc, at, want)
			}
		}
	})
}

// Descriptors have the same meaning as in robfig/cron.
func TestDescriptorsEqualRobfig(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"} {
		ours := parse(t, text, nil)
		theirs, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			at := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()
			if got, want := ours.Next(at), theirs.Next(at); !got.Equal(want) {
				t.Fatalf("%s: Next(%v) = %v, robfig has %v", text, at, got, want)
			}
		}
	}
}

// Prev and Next agree on the ticks, in every zone, with and without changes of the clock.
func TestPrevInvertsNext(t *testing.T) {
	t.Parallel()
	names := zoneNames(t)
	rig.Random(t, rand.Uint64(), rounds, func(r *rand.Rand) {
		loc, err := time.LoadLocation(rig.OneOf(r, names...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.Parse(drawSpec(r), loc)
		if err != nil {
			if !strings.Contains(err.Error(), "never fires") {
				t.Fatal(err)
			}
			return
		}
		at := drawTime(r)
		// Half of the times are near a change of the clock, if there is any.
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && r.IntN(2) == 0 {
			at = end.Add(time.Duration(rig.Between(r, -5*3600, 5*3600)) * time.Second)
		}
		checkInverse(t, s, at)
	})
}

// checkInverse compares Next and Prev around an instant.
func checkInverse(t *testing.T, s *spec.Schedule, at time.Time) {
	t.Helper()
	next, prev := s.Next(at), s.Prev(at)
	if next.IsZero() || prev.IsZero() {
		return
	}
	claims := map[string]bool{
		"next > t":                         next.After(at),
		"prev <= t":                        !prev.After(at),
		"prev(next) = next":                s.Prev(next).Equal(next),
		"prev(next - 1 ns) = prev":         s.Prev(next.Add(-1)).Equal(prev),
		"next(prev) = next":                s.Next(prev).Equal(next),
		"next(prev - 1 ns) = prev":         s.Next(prev.Add(-1)).Equal(prev),
		"next = its milliseconds":          s.NextMilli(at.UnixMilli()) == next.UnixMilli(),
		"prev = its milliseconds":          s.PrevMilli(at.UnixMilli()) == prev.UnixMilli(),
		"two ticks from prev through next": s.Count(prev.UnixMilli()-1, next.UnixMilli(), 5) == 2,
		"interval = next - prev":           s.Interval(prev.UnixMilli()) == next.Sub(prev),
	}
	for claim, holds := range claims {
		if !holds {
			t.Fatalf("%q in %v at %v: not %s (next %v, prev %v)", s.Text(), s.Zone(), at.UTC(), claim, next.UTC(), prev.UTC())
		}
	}
}

// Count equals the number of calls of Next, in every zone, across changes of the clock, and it
// stops at its limit.
func TestCountEqualsNext(t *testing.T) {
	t.Parallel()
	names := zoneNames(t)
	rig.Random(t, rand.Uint64(), rounds, func(r *rand.Rand) {
		loc, err := time.LoadLocation(rig.OneOf(r, names...))
		if err != nil {
			t.Fatal(err)
		}
		text := drawSpec(r)
		if r.IntN(2) == 0 {
			text = fmt.Sprintf("%d %d,%d %d,%d %s", rig.Between(r, 0, 59), rig.Between(r, 0, 29), rig.Between(r, 30, 59),
				rig.Between(r, 0, 2), rig.Between(r, 3, 23), rig.OneOf(r, "* * *", "*/3 * 1-5", "L * 5#3", "13 3,10 *", "* * 0 2000-2050"))
		}
		s, err := spec.Parse(text, loc)
		if err != nil {
			return
		}
		at := drawTime(r)
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && r.IntN(2) == 0 {
			at = end.Add(-time.Duration(rig.Between(r, 0, 3*24*3600)) * time.Second)
		}
		from, to := at.UnixMilli(), at.UnixMilli()
		const most = 200
		for n := range most {
			if got := s.Count(from, to, most); got != n {
				t.Fatalf("%q in %v: Count(%d, %d) = %d, want %d", text, loc, from, to, got, n)
			}
			next := s.NextMilli(to)
			if next == 0 {
				break
			}
			if got := s.Count(from, next-1, most); got != n {
				t.Fatalf("%q in %v: before the next tick: Count(%d, %d) = %d, want %d", text, loc, from, next-1, got, n)
			}
			to = next
		}
		if got := s.Count(from, to, most/2); got > most/2 {
			t.Fatalf("%q: %d ticks counted, the limit is %d", text, got, most/2)
		}
	})
}

// The local times in a gap are one tick at its end, together with the tick that is there anyway.
func TestCountAtTheEndOfAGap(t *testing.T) {
	day := time.Date(2026, time.March, 29, 0, 0, 0, 0, time.UTC) // at 01:00 UTC 02:00 becomes 03:00 in Berlin
	for text, want := range map[string]int{
		"0 2 * * *": 1, "0,30 2 * * *": 1, "0 3 * * *": 1, "0 2,3 * * *": 1, "30 2,3 * * *": 2, "0 0 3,4 * * *": 2, "1 3 * * *": 1, "* 2 * * *": 0, "0-59 2-3 * * *": 60,
		"0 0 2 * * ? 2025": 0,
	} {
		s := parse(t, "CRON_TZ=Europe/Berlin "+text, nil)
		if got := s.Count(day.UnixMilli(), day.Add(12*time.Hour).UnixMilli(), 100); got != want {
			t.Errorf("%q: %d ticks, want %d", text, got, want)
		}
	}
}
