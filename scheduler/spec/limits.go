package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of the limits after a spec, and the descriptor of a single tick. A job has keys of the
// same names.
const (
	limitNotBefore = "not_before"
	limitUntil     = "until"
	limitEvery     = "every"
	limitExclude   = "exclude"
	limitAt        = "at"
)

var limitNames = []string{limitAt, limitNotBefore, limitUntil, limitEvery, limitExclude}

// Limits exclude ticks of a spec, as the package comment describes for the limits after a spec.
// Instants are texts in RFC 3339, or local times such as 2027-03-28T02:30. The zero value excludes
// no tick.
type Limits struct {
	At        string   // the only tick, without a spec. Empty: the spec has the ticks
	NotBefore string   // the first instant that may be a tick. Empty: no lower bound
	Until     string   // the first instant that may no longer be a tick. Empty: no upper bound
	Every     int      // n, from 2 to 1000, keeps each n-th tick counted from NotBefore, including the first. Zero: all are kept
	Exclude   []string // whole days: 2026-12-25, 2026-12-24..2027-01-01, SAT. Empty: none
}

// Append returns a spec with the limits appended, for [Parse], which checks them. It returns an
// *Error if there are both a spec and an At.
func (l Limits) Append(text string) (string, error) {
	words := strings.Fields(text)
	if l.At != "" {
		if len(words) > 1 || len(words) == 1 && !strings.Contains(words[0], "TZ=") {
			return "", &Error{Spec: strings.TrimSpace(text), Field: limitAt, Value: l.At, Reason: "is in place of a spec; give one of them"}
		}
		words = append(words, "@at", oneWord(l.At, "T"))
	}
	add := func(name, value string) { words = append(words, name+"="+value) }
	if l.NotBefore != "" {
		add(limitNotBefore, oneWord(l.NotBefore, "T"))
	}
	if l.Until != "" {
		add(limitUntil, oneWord(l.Until, "T"))
	}
	if l.Every != 0 {
		add(limitEvery, strconv.Itoa(l.Every))
	}
	if len(l.Exclude) > 0 {
		add(limitExclude, oneWord(strings.Join(l.Exclude, ","), ""))
	}
	if len(words) == len(strings.Fields(text)) {
		return text, nil // unchanged
	}
	return strings.Join(words, " "), nil
}

// oneWord replaces the space in a value, which would otherwise be read as several words.
func oneWord(value, space string) string { return strings.Join(strings.Fields(value), space) }

// Bounds of the limits.
const (
	maxEvery  = 1000
	firstDate = "1970-01-01"
	lastDate  = "2199-12-31"
)

// A limits has Limits in the form that searches use.
type limits struct {
	from, until int64 // Unix seconds: from <= tick < until
	every       int   // 0: keep all
	weekdays    uint8 // excluded weekdays, Sunday as bit 0
	days        []dayRange
	remark      string // of an @at spec: the effect of daylight saving on its tick
}

// A dayRange is a range of days since 1970-01-01, including both ends.
type dayRange struct{ first, last int64 }

// cutLimits splits the words of a spec into its fields and its limits.
func cutLimits(words []string) (rest, limits []string) {
	i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") })
	if i < 1 {
		return words, nil
	}
	return words[:i], words[i:]
}

// readLimits reads the limits after a spec into s.
func (s *Schedule) readLimits(words []string) *Error {
	if len(words) == 0 {
		return nil
	}
	given := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == limitAt || !slices.Contains(limitNames, name) {
			return &Error{Field: "limit", Value: word, Reason: "must be not_before=, until=, every= or exclude=, behind the spec"}
		}
		if _, twice := given[name]; twice {
			return &Error{Field: name, Value: value, Reason: "is given twice"}
		}
		given[name] = value
	}
	l := &limits{from: minUnix, until: maxUnix + 1}
	var fault *Error
	for _, name := range limitNames {
		value, ok := given[name]
		if !ok {
			continue
		}
		switch name {
		case limitNotBefore:
			l.from, _, fault = s.instant(name, value)
		case limitUntil:
			l.until, _, fault = s.instant(name, value)
		case limitEvery:
			fault = l.readEvery(value, given[limitNotBefore] != "")
		default:
			fault = l.readExclude(value)
		}
		if fault != nil {
			return fault
		}
	}
	s.limits = l
	return s.emptied(given)
}

// emptied refuses limits that leave no tick at all. A spec whose last tick has passed is no fault:
// a configuration from last year must not keep a node from starting.
func (s *Schedule) emptied(given map[string]string) *Error {
	if _, ok := s.next(max(s.limits.from-1, minUnix)); ok {
		return nil
	}
	last := limitNotBefore // every needs it
	for _, name := range []string{limitUntil, limitExclude} {
		if _, ok := given[name]; ok {
			last = name
		}
	}
	return &Error{Field: last, Value: given[last], Reason: "never fires: the limits leave no tick of the spec"}
}

// parseAt reads the instant after "@at". Its spec has every second, limited to one second.
func (s *Schedule) parseAt(words, limited []string) *Error {
	value := strings.Join(words, " ")
	if len(limited) > 0 {
		return &Error{Field: limitAt, Value: value, Reason: "is one tick, and takes no limits"}
	}
	at, local, fault := s.instant(limitAt, value)
	s.every, s.limits = 1, &limits{from: at, until: at + 1}
	if local != nil {
		s.limits.remark = local.fixedRemark(at)
	}
	return fault
}

// instant reads an instant, in Unix seconds. Local times are read as in a fixed spec: a time that
// the clock skips becomes the end of the gap, and of a time that it shows twice the first one
// counts. For a local time it also returns the fixed spec.
func (s *Schedule) instant(name, value string) (int64, *Schedule, *Error) {
	fault := &Error{Field: name, Value: value,
		Reason: "must be an instant with its offset (2027-03-28T00:30:00Z) or a local time (2027-03-28T02:30:00, 2027-03-28T02:30, 2027-03-28), " + dates}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		if year := t.UTC().Year(); year < firstYear || year > lastYear || t.Nanosecond() != 0 {
			return 0, nil, fault
		}
		return t.Unix(), nil, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(layout, value)
		if err != nil || t.Nanosecond() != 0 {
			continue
		}
		local := &Schedule{zone: s.zone}
		if err := local.parseFields(strings.Fields(t.Format("5 4 15 2 1 ? 2006"))); err != nil {
			break
		}
		unix, _ := local.next(minUnix) // in a gap, too, a fixed spec has its tick
		return unix, local, nil
	}
	return 0, nil, fault
}

const dates = "a whole second from " + firstDate + " to " + lastDate

func (l *limits) readEvery(value string, counted bool) *Error {
	n := number(value)
	switch {
	case n < 2 || n > maxEvery:
		return &Error{Field: limitEvery, Value: value, Reason: fmt.Sprintf("must be 2 to %d", maxEvery)}
	case !counted:
		return &Error{Field: limitEvery, Value: value, Reason: "needs not_before, the instant from which ticks are counted"}
	}
	l.every = n
	return nil
}

func (l *limits) readExclude(value string) *Error {
	for item := range strings.SplitSeq(value, ",") {
		if day := slices.Index(fields[dayOfWeek].names, strings.ToLower(item)); day >= 0 {
			l.weekdays |= 1 << day
			continue
		}
		low, high, ranged := strings.Cut(item, "..")
		if !ranged {
			high = low
		}
		first, okFirst := date(low)
		last, okLast := date(high)
		if !okFirst || !okLast || first > last {
			return &Error{Field: limitExclude, Value: item, Reason: "must be a date (2026-12-25), dates from the first to the last (2026-12-24..2027-01-01), " +
				"or a day of the week (SAT), from " + firstDate + " to " + lastDate}
		}
		l.days = append(l.days, dayRange{first, last})
	}
	l.days = merged(l.days)
	return nil
}

// date parses a date as a day since 1970-01-01.
func date(text string) (day int64, ok bool) {
	t, _ := time.Parse(time.DateOnly, text) // the year of any other text is 1
	return floorDiv(t.Unix(), daySeconds), t.Year() >= firstYear && t.Year() <= lastYear
}

// merged returns the same days, sorted, in as few ranges as possible.
func merged(days []dayRange) (all []dayRange) {
	slices.SortFunc(days, func(a, b dayRange) int { return cmp.Compare(a.first, b.first) })
	for _, d := range days {
		if n := len(all); n > 0 && d.first <= all[n-1].last+1 {
			all[n-1].last = max(all[n-1].last, d.last)
			continue
		}
		all = append(all, d)
	}
	return all
}
