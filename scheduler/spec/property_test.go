package spec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/cronce/cronce/scheduler/spec"
)

// genField draws a field of values from min to max.
func genField(min, max int) *rapid.Generator[string] {
	value := rapid.IntRange(min, max)
	item := rapid.Custom(func(t *rapid.T) string {
		low, high := value.Draw(t, "low"), value.Draw(t, "high")
		if low > high {
			low, high = high, low
		}
		step := rapid.IntRange(1, max-1).Draw(t, "step")
		switch rapid.IntRange(0, 5).Draw(t, "form") {
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
	})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
			return rapid.SampledFrom([]string{"*", "?"}).Draw(t, "star")
		}
		return strings.Join(rapid.SliceOfN(item, 1, 3).Draw(t, "items"), ",")
	})
}

// genSpec draws six fields in robfig's grammar.
var genSpec = rapid.Custom(func(t *rapid.T) string {
	return strings.Join([]string{
		genField(0, 59).Draw(t, "second"), genField(0, 59).Draw(t, "minute"), genField(0, 23).Draw(t, "hour"),
		genField(1, 31).Draw(t, "day of month"), genField(1, 12).Draw(t, "month"), genField(0, 6).Draw(t, "day of week"),
	}, " ")
})

var robfig = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func drawTime(t *rapid.T) time.Time {
	first, last := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	return time.Unix(rapid.Int64Range(first.Unix(), last.Unix()).Draw(t, "unix"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
}

// Where clocks do not change, ticks are those of robfig/cron.
func TestEqualsRobfig(t *testing.T) {
	t.Parallel()
	names := zoneNames(t)
	rapid.Check(t, func(t *rapid.T) {
		text := genSpec.Draw(t, "spec")
		loc, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := robfig.Parse("TZ=" + loc.String() + " " + text)
		if err != nil {
			t.Fatal(err)
		}
		at := drawTime(t)
		ours, err := spec.Parse(text, loc)
		if err != nil {
			if next := theirs.Next(at); !strings.Contains(err.Error(), "never fires") || !next.IsZero() {
				t.Fatalf("%v, but robfig has %v", err, next)
			}
			return
		}
		for range 10 {
			want := theirs.Next(at)
			if want.IsZero() || len(changes(loc, at.AddDate(0, 0, -2), want.AddDate(0, 0, 2))) > 0 {
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
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.Parse(genSpec.Draw(t, "spec"), loc)
		if err != nil {
			if !strings.Contains(err.Error(), "never fires") {
				t.Fatal(err)
			}
			return
		}
		at := drawTime(t)
		// Half of the times are near a change of the clock, if there is any.
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "near") {
			at = end.Add(time.Duration(rapid.Int64Range(-5*3600, 5*3600).Draw(t, "away")) * time.Second)
		}
		checkInverse(t, s, at)
	})
}

// checkInverse compares Next and Prev around an instant.
func checkInverse(t rapid.TB, s *spec.Schedule, at time.Time) {
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
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		text := genSpec.Draw(t, "spec")
		if rapid.Bool().Draw(t, "fixed") {
			text = fmt.Sprintf("%d %d,%d %d,%d %s", rapid.IntRange(0, 59).Draw(t, "second"), rapid.IntRange(0, 29).Draw(t, "minute"), rapid.IntRange(30, 59).Draw(t, "minute"),
				rapid.IntRange(0, 2).Draw(t, "hour"), rapid.IntRange(3, 23).Draw(t, "hour"), rapid.SampledFrom([]string{"* * *", "*/3 * 1-5", "L * 5#3", "13 3,10 *", "* * 0 2000-2050"}).Draw(t, "days"))
		}
		s, err := spec.Parse(text, loc)
		if err != nil {
			return
		}
		at := drawTime(t)
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "near") {
			at = end.Add(-time.Duration(rapid.Int64Range(0, 3*24*3600).Draw(t, "before")) * time.Second)
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
	} {
		s := parse(t, "CRON_TZ=Europe/Berlin "+text, nil)
		if got := s.Count(day.UnixMilli(), day.Add(12*time.Hour).UnixMilli(), 100); got != want {
			t.Errorf("%q: %d ticks, want %d", text, got, want)
		}
	}
}
