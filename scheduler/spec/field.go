package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Positions of the fields.
const (
	second = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
	year // only as the seventh
)

// A field describes the values that a field may hold. Names stand for the values from min up.
type field struct {
	name     string
	min, max int
	maxStep  int // a larger step would leave a single value
	names    []string
}

var fields = [...]field{
	second:     {name: "second", max: 59, maxStep: 59},
	minute:     {name: "minute", max: 59, maxStep: 59},
	hour:       {name: "hour", max: 23, maxStep: 23},
	dayOfMonth: {name: "day of month", min: 1, max: 31, maxStep: 31},
	month: {name: "month", min: 1, max: 12, maxStep: 12,
		names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	dayOfWeek: {name: "day of week", max: 7, maxStep: 6,
		names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	year: {name: "year", min: firstYear, max: lastYear, maxStep: lastYear - firstYear},
}

// normalise checks a field and returns it in the form that robfig's parser accepts, which takes
// Sunday only as 0. L, W and #, which that parser does not accept, go into r instead; if a field
// has nothing else, the result is empty.
func (f field) normalise(text string, r *rare) (string, *Error) {
	var plain []string
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			return "", &Error{Field: f.name, Value: text, Reason: "empty list item; " + f.allowed()}
		}
		if known, reason := r.parse(f, item); reason != "" {
			return "", &Error{Field: f.name, Value: item, Reason: reason}
		} else if known {
			continue
		}
		simple, reason := f.item(item)
		if reason != "" {
			return "", &Error{Field: f.name, Value: item, Reason: reason}
		}
		plain = append(plain, simple)
	}
	return strings.Join(plain, ","), nil
}

// item checks one item of the list. It returns the item in plain form, or the reason why it is
// invalid.
func (f field) item(item string) (plain, reason string) {
	base, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		if step = number(stepText); step < 1 || step > f.maxStep {
			return "", fmt.Sprintf("step %q; must be steps of 1 to %d", stepText, f.maxStep)
		}
	}
	if base == "*" || base == "?" {
		return item, ""
	}
	from, to, reason := f.ends(base)
	switch {
	case reason != "":
		return "", reason
	case !f.weekly() || to < 7:
		return item, ""
	case stepped && from == to:
		return "", "a step from 7 has nowhere to go; write Sunday as 0"
	}
	return sundayAsZero(from, to, step), ""
}

// ends reads "value" or "value-value".
func (f field) ends(base string) (from, to int, reason string) {
	low, high, ranged := strings.Cut(base, "-")
	from, ok := f.value(low)
	if !ok {
		return 0, 0, f.unknown(base)
	}
	if !ranged {
		return from, from, ""
	}
	if to, ok = f.value(high); !ok {
		return 0, 0, f.unknown(base)
	}
	if from > 0 && strings.EqualFold(high, "sun") {
		to = 7
	}
	if from > to {
		return 0, 0, "range runs backwards; write it as a list of two ranges"
	}
	return from, to, ""
}

func (f field) value(text string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, true
	}
	v := number(text)
	return v, f.min <= v && v <= f.max
}

// unknown returns the reason for an invalid value.
func (f field) unknown(base string) string {
	upper := strings.ToUpper(base)
	switch {
	case upper == "H":
		return "H " + perJob
	case f.weekly() && yearLike(base):
		return "looks like a year: six fields are second, minute, hour, day of month, month and day of week; " +
			"put the second in front, and the year is the seventh"
	case f.name == fields[month].name && fields[dayOfWeek].named(base):
		return "looks like a day of week: five fields begin with the minute, six with the second; " + f.allowed()
	case strings.Contains(upper, "#"):
		return "# (nth weekday of the month) belongs in the day of week; " + f.allowed()
	case strings.HasSuffix(upper, "W"):
		return "W (nearest weekday) belongs in the day of month; " + f.allowed()
	case strings.HasPrefix(upper, "L-") || strings.HasSuffix(upper, "L"):
		return "L (last) belongs in the day of month, or behind a day of week; " + f.allowed()
	}
	return f.allowed()
}

// perJob describes where H is allowed.
const perJob = "(a value that a hash of the job's name chooses) stands in the second, minute, hour, day of month and day of week " +
	"of the spec of a job, as H, H(0-29), H/15 or H(0-29)/10"

// named reports whether a value, or a range, begins with a name of the field.
func (f field) named(text string) bool {
	from, _, _ := strings.Cut(strings.ToLower(text), "-")
	return slices.Contains(f.names, from)
}

// yearLike reports whether a value, or a range, begins with a year.
func yearLike(text string) bool {
	from, _, _ := strings.Cut(text, "-")
	_, ok := fields[year].value(from)
	return ok
}

func (f field) allowed() string {
	names, more := "", ""
	if f.names != nil {
		names = fmt.Sprintf(", %s-%s", strings.ToUpper(f.names[0]), strings.ToUpper(f.names[len(f.names)-1]))
	}
	switch f.name {
	case fields[dayOfMonth].name:
		more = ", L, L-3, 15W, LW"
	case fields[dayOfWeek].name:
		more = ", 5L, 5#3"
	}
	return fmt.Sprintf("must be made of %d-%d%s, *, ?%s, ranges a-b, steps /n, and lists of these", f.min, f.max, names, more)
}

// weekly reports whether the field accepts 7 for 0.
func (f field) weekly() bool { return len(f.names) == 7 }

// sundayAsZero lists the values of a range of weekdays that ends in 7.
func sundayAsZero(from, to, step int) string {
	var days []string
	for day := from; day <= to; day += step {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// number parses decimal digits only: strconv alone would accept a sign. It returns -1 for any other
// text.
func number(text string) int {
	v, err := strconv.Atoi(text)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	return v
}
