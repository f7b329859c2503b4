package spec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/scheduler/spec"
)

// A second implementation of L, W and #, by the calendar of package time. It uses neither bit sets
// nor the weekday on which a month begins.

func lastDay(t time.Time) int { return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }

func isLast(t time.Time, before int) bool { return t.Day() == lastDay(t)-before }

func isNth(t time.Time, n int) bool { return (t.Day()+6)/7 == n }

func isLastWeek(t time.Time) bool { return t.AddDate(0, 0, 7).Month() != t.Month() }

// isNear reports whether t is the weekday nearest to a day of its month. The nearest
// is never more than two days away.
func isNear(t time.Time, day int) bool {
	if day < 1 || day > lastDay(t) {
		return false
	}
	for _, away := range []int{0, -1, 1, -2, 2} { // a Saturday goes back first, a Sunday's Saturday is none
		near := time.Date(t.Year(), t.Month(), day+away, 0, 0, 0, 0, time.UTC)
		if near.Month() == t.Month() && near.Weekday() != time.Saturday && near.Weekday() != time.Sunday {
			return near.Day() == t.Day()
		}
	}
	return false
}

// A rareItem is an item of a day field, with a function for its days.
type rareItem struct {
	text  string
	match func(t time.Time) bool
}

func drawDay(r *rand.Rand) rareItem {
	n := rig.Between(r, 1, 31)
	back := rig.Between(r, 1, 30)
	return rig.OneOf(r,
		rareItem{"L", func(t time.Time) bool { return isLast(t, 0) }},
		rareItem{fmt.Sprintf("L-%d", back), func(t time.Time) bool { return isLast(t, back) }},
		rareItem{"LW", func(t time.Time) bool { return isNear(t, lastDay(t)) }},
		rareItem{fmt.Sprintf("L-%dW", back), func(t time.Time) bool { return isNear(t, lastDay(t)-back) }},
		rareItem{fmt.Sprintf("%dW", n), func(t time.Time) bool { return isNear(t, n) }},
		rareItem{fmt.Sprint(n), func(t time.Time) bool { return t.Day() == n }},
	)
}

func drawWeekday(r *rand.Rand) rareItem {
	w := rig.Between(r, 0, 7)
	n := rig.Between(r, 1, 5)
	is := func(t time.Time) bool { return int(t.Weekday()) == w%7 }
	name := rig.OneOf(r, fmt.Sprint(w), []string{"sun", "MON", "Tue", "wed", "THU", "fri", "SAT", "Sun"}[w])
	return rig.OneOf(r,
		rareItem{name, is},
		rareItem{name + "L", func(t time.Time) bool { return is(t) && isLastWeek(t) }},
		rareItem{fmt.Sprintf("%s#%d", name, n), func(t time.Time) bool { return is(t) && isNth(t, n) }},
	)
}

func drawYear(r *rand.Rand) rareItem {
	from := rig.Between(r, 1970, 2199)
	to := rig.Between(r, from, 2199)
	step := rig.Between(r, 1, 229)
	within := func(from, to, step int) func(time.Time) bool {
		return func(t time.Time) bool { return t.Year() >= from && t.Year() <= to && (t.Year()-from)%step == 0 }
	}
	return rig.OneOf(r,
		rareItem{fmt.Sprint(from), within(from, from, 1)},
		rareItem{fmt.Sprintf("%d-%d", from, to), within(from, to, 1)},
		rareItem{fmt.Sprintf("%d-%d/%d", from, to, step), within(from, to, step)},
		rareItem{fmt.Sprintf("%d/%d", from, step), within(from, 2199, step)},
		rareItem{fmt.Sprintf("*/%d", max(step, 2)), within(1970, 2199, max(step, 2))},
	)
}

// list draws a field: its text, and a function for its days. Star is the text of a field with all
// days.
func list(r *rand.Rand, item func(*rand.Rand) rareItem) (text string, star bool, match func(time.Time) bool) {
	if r.IntN(3) == 0 {
		return rig.OneOf(r, "*", "?"), true, func(time.Time) bool { return true }
	}
	items := make([]rareItem, rig.Between(r, 1, 3))
	texts := make([]string, len(items))
	for i := range items {
		items[i] = item(r)
		texts[i] = items[i].text
	}
	return strings.Join(texts, ","), false, func(t time.Time) bool {
		return slices.ContainsFunc(items, func(i rareItem) bool { return i.match(t) })
	}
}

// The days of specs with L, W, # and years match brute force, over fifty years. A spec that is
// refused has no day in four hundred years, after which the calendar repeats.
func TestRareEqualsBruteForce(t *testing.T) {
	t.Parallel()
	rig.Random(t, rand.Uint64(), rounds, func(r *rand.Rand) {
		days, anyDay, onDay := list(r, drawDay)
		weekdays, anyWeekday, onWeekday := list(r, drawWeekday)
		years, _, inYear := list(r, drawYear)
		month := rig.Between(r, 0, 12)
		months := "*"
		if month > 0 {
			months = fmt.Sprint(month)
		}
		text := fmt.Sprintf("0 0 0 %s %s %s %s", days, months, weekdays, years)
		match := func(at time.Time) bool {
			either := !anyDay && !anyWeekday && (onDay(at) || onWeekday(at))
			return inYear(at) && (month == 0 || int(at.Month()) == month) && (either || onDay(at) && onWeekday(at))
		}
		s, err := spec.Parse(text, nil)
		from := time.Date(rig.Between(r, 1965, 2160), 1, 1, 0, 0, 0, 0, time.UTC)
		to := from.AddDate(50, 0, 0)
		if err != nil {
			if !strings.Contains(err.Error(), "never fires") {
				t.Fatal(err)
			}
			from, to = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2370, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		var want []time.Time
		for at := from; at.Before(to); at = at.AddDate(0, 0, 1) {
			if match(at) {
				want = append(want, at)
			}
		}
		if err != nil {
			if len(want) > 0 {
				t.Fatalf("%v, but %v matches", err, want[0])
			}
			return
		}
		at := from.Add(-1)
		for _, day := range want {
			if next := s.Next(at); !next.Equal(day) {
				t.Fatalf("%q: after %v comes %v, want %v", text, at, next, day)
			}
			if prev := s.Prev(day.Add(-1)); at.After(from) && !prev.Equal(at) {
				t.Fatalf("%q: before %v comes %v, want %v", text, day, prev, at)
			}
			at = day
		}
		if next := s.Next(at); !next.IsZero() && next.Before(to) {
			t.Fatalf("%q: after %v comes %v, want none before %v", text, at, next, to)
		}
	})
}
