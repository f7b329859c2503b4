package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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

var genDay = rapid.Custom(func(t *rapid.T) rareItem {
	n := rapid.IntRange(1, 31).Draw(t, "day")
	back := rapid.IntRange(1, 30).Draw(t, "back")
	return rapid.SampledFrom([]rareItem{
		{"L", func(t time.Time) bool { return isLast(t, 0) }},
		{fmt.Sprintf("L-%d", back), func(t time.Time) bool { return isLast(t, back) }},
		{"LW", func(t time.Time) bool { return isNear(t, lastDay(t)) }},
		{fmt.Sprintf("L-%dW", back), func(t time.Time) bool { return isNear(t, lastDay(t)-back) }},
		{fmt.Sprintf("%dW", n), func(t time.Time) bool { return isNear(t, n) }},
		{fmt.Sprint(n), func(t time.Time) bool { return t.Day() == n }},
	}).Draw(t, "item")
})

var genWeekday = rapid.Custom(func(t *rapid.T) rareItem {
	w := rapid.IntRange(0, 7).Draw(t, "weekday")
	n := rapid.IntRange(1, 5).Draw(t, "nth")
	is := func(t time.Time) bool { return int(t.Weekday()) == w%7 }
	name := rapid.SampledFrom([]string{fmt.Sprint(w), []string{"sun", "MON", "Tue", "wed", "THU", "fri", "SAT", "Sun"}[w]}).Draw(t, "name")
	return rapid.SampledFrom([]rareItem{
		{name, is},
		{name + "L", func(t time.Time) bool { return is(t) && isLastWeek(t) }},
		{fmt.Sprintf("%s#%d", name, n), func(t time.Time) bool { return is(t) && isNth(t, n) }},
	}).Draw(t, "item")
})

var genYear = rapid.Custom(func(t *rapid.T) rareItem {
	from := rapid.IntRange(1970, 2199).Draw(t, "from")
	to := rapid.IntRange(from, 2199).Draw(t, "to")
	step := rapid.IntRange(1, 229).Draw(t, "step")
	within := func(from, to, step int) func(time.Time) bool {
		return func(t time.Time) bool { return t.Year() >= from && t.Year() <= to && (t.Year()-from)%step == 0 }
	}
	return rapid.SampledFrom([]rareItem{
		{fmt.Sprint(from), within(from, from, 1)},
		{fmt.Sprintf("%d-%d", from, to), within(from, to, 1)},
		{fmt.Sprintf("%d-%d/%d", from, to, step), within(from, to, step)},
		{fmt.Sprintf("%d/%d", from, step), within(from, 2199, step)},
		{fmt.Sprintf("*/%d", max(step, 2)), within(1970, 2199, max(step, 2))},
	}).Draw(t, "item")
})

// list draws a field: its text, and a function for its days. Star is the text of a field with all
// days.
func list(t *rapid.T, what string, item *rapid.Generator[rareItem]) (text string, star bool, match func(time.Time) bool) {
	if rapid.IntRange(0, 2).Draw(t, what+" any") == 0 {
		return rapid.SampledFrom([]string{"*", "?"}).Draw(t, what), true, func(time.Time) bool { return true }
	}
	items := rapid.SliceOfN(item, 1, 3).Draw(t, what)
	texts := make([]string, len(items))
	for i := range items {
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
	rapid.Check(t, func(t *rapid.T) {
		days, anyDay, onDay := list(t, "day of month", genDay)
		weekdays, anyWeekday, onWeekday := list(t, "day of week", genWeekday)
		years, _, inYear := list(t, "year", genYear)
		month := rapid.IntRange(0, 12).Draw(t, "month")
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
		from := time.Date(rapid.IntRange(1965, 2160).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
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
