package importcommand

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

// A field is one of the five fields of a line.
type field struct {
	name      string
	low, high int
	names     []string // of low, low+1, …
}

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	fields   = [5]field{
		{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of month", 1, 31, nil}, {"month", 1, 12, months}, {"day of week", 0, 7, weekdays},
	}
)

// A set has the values of a field as bits.
type set uint64

func (s set) has(v int) bool { return s>>v&1 == 1 }

// full reports whether a set has all values of its field.
func (f field) full(s set) bool {
	for v := f.low; v <= f.high; v++ {
		if !s.has(v) {
			return false
		}
	}
	return true
}

// text writes a set as a list of values and ranges.
func (f field) text(s set) string {
	if f.full(s) {
		return "*"
	}
	var items []string
	for v := f.low; v <= f.high; v++ {
		if !s.has(v) {
			continue
		}
		first := v
		for v < f.high && s.has(v+1) {
			v++
		}
		switch v - first {
		case 0:
			items = append(items, strconv.Itoa(first))
		case 1:
			items = append(items, strconv.Itoa(first), strconv.Itoa(v))
		default:
			items = append(items, fmt.Sprintf("%d-%d", first, v))
		}
	}
	return strings.Join(items, ",")
}

// parse parses a field. A random value, which some crons choose when they start, is derived from
// the seed.
func (f field) parse(text string, seed uint64) (s set, random bool, err error) {
	for item := range strings.SplitSeq(text, ",") {
		one, r, err := f.item(item, seed)
		if err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		s, random = s|one, random || r
	}
	return s, random, nil
}

func (f field) item(text string, seed uint64) (s set, random bool, err error) {
	body, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		if step, err = number(stepText); err != nil || step < 1 {
			return 0, false, fmt.Errorf("the step is %q, must be 1 or more", stepText)
		}
	}
	if from, to, ok := strings.Cut(body, "~"); ok {
		if stepped {
			return 0, false, errors.New("a random value has no step here")
		}
		low, high, err := f.span(from, to)
		if err != nil {
			return 0, false, err
		}
		return 1 << (low + int(seed%uint64(high-low+1))), true, nil
	}
	low, high := f.low, f.high
	if f.names != nil && f.high == 7 {
		high = 6 // the end of *, so that Sunday is not included twice
	}
	switch from, to, ranged := strings.Cut(body, "-"); {
	case body == "*":
	case ranged:
		if from == "" || to == "" {
			return 0, false, errors.New("a range has no end")
		}
		if low, high, err = f.span(from, to); err != nil {
			return 0, false, err
		}
	case stepped:
		return 0, false, fmt.Errorf("%s is one value to some crons and a range to others: write %s-%d/%s", text, body, high, stepText)
	default:
		if low, err = f.value(body); err != nil {
			return 0, false, err
		}
		high = low
	}
	for v := low; v <= high; v += step {
		s |= 1 << v
	}
	return s, false, nil
}

// span returns the ends of a range. An empty end means the end of the field.
func (f field) span(from, to string) (low, high int, err error) {
	low, high = f.low, f.high
	if from != "" {
		low, err = f.value(from)
	}
	if to != "" && err == nil {
		high, err = f.value(to)
	}
	if err == nil && low > high {
		err = fmt.Errorf("the range %s-%s ends before it begins", from, to)
	}
	return low, high, err
}

func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.low + i, nil
	}
	v, err := number(text)
	if err != nil || v < f.low || v > f.high {
		return 0, fmt.Errorf("%q must be %d to %d", text, f.low, f.high)
	}
	return v, nil
}

// number parses decimal digits only.
func number(text string) (int, error) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, errors.New("is not a number")
	}
	return strconv.Atoi(text)
}

// translate makes a spec from the five fields of a line, with a remark on each difference. The
// prefix has the zone, if the line has one.
func translate(words []string, prefix string, zone *time.Location, seed uint64) (s *spec.Schedule, remarks []string, err error) {
	var sets [5]set
	exact := slices.Clone(words) // as written, where cron and cronce agree
	for i, f := range fields {
		var random bool
		if sets[i], random, err = f.parse(words[i], seed>>(8*i)); err != nil {
			return nil, nil, err
		}
		if random {
			exact[i] = f.text(sets[i])
			remarks = append(remarks, fmt.Sprintf("the random %s is %s: always, and on all nodes", f.name, exact[i]))
		}
	}
	if sets[4].has(7) { // Sunday
		sets[4] = sets[4]&^(1<<7) | 1
		exact[4] = field{"", 0, 6, nil}.text(sets[4])
	}
	plain := make([]string, 5)
	for i, f := range fields {
		plain[i] = f.text(sets[i])
	}
	if err = days(words, sets, exact, plain); err != nil {
		return nil, nil, err
	}
	s, err = spec.Parse(prefix+strings.Join(exact, " "), zone)
	if err != nil {
		s, err = spec.Parse(prefix+strings.Join(plain, " "), zone)
	}
	return s, remarks, err
}

// days returns the two day fields. Cron takes days that match either field. If one of them begins
// with *, even as */2, cron takes days that match both.
func days(words []string, sets [5]set, texts ...[]string) error {
	week := field{"day of week", 0, 6, nil}
	monthFull, weekFull := fields[2].full(sets[2]), week.full(sets[4])
	write := func(month, week string) {
		for _, text := range texts {
			text[2], text[4] = month, week
		}
	}
	starred := strings.HasPrefix(words[2], "*") || strings.HasPrefix(words[4], "*")
	for _, text := range texts {
		if monthFull {
			text[2] = "*"
		}
		if weekFull {
			text[4] = "*"
		}
	}
	switch {
	case !starred && (monthFull || weekFull):
		write("*", "*")
	case starred && !monthFull && !weekFull:
		items, ok := nth(sets[2], sets[4])
		if !ok {
			return fmt.Errorf("a day has to match both %q and %q: no spec can express this", words[2], words[4])
		}
		write("*", items)
	}
	return nil
}

// nth returns weekdays in whole weeks of the month, as in MON#1. It returns false for most sets,
// which have other days too.
func nth(month, week set) (string, bool) {
	var items []string
	for k := range 5 {
		of := set(0)
		for v := 7*k + 1; v <= min(7*k+7, 31); v++ {
			of |= 1 << v
		}
		switch month & of {
		case 0:
			continue
		case of:
		default:
			return "", false
		}
		for d := week; d != 0; d &= d - 1 {
			items = append(items, fmt.Sprintf("%s#%d", strings.ToUpper(weekdays[bits.TrailingZeros64(uint64(d))]), k+1))
		}
	}
	return strings.Join(items, ","), true
}
