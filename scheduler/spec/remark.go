package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// fieldRemarks returns remarks on six or seven fields as they were written; given is the number of
// fields in the text.
func fieldRemarks(words []string, given int, eitherDay bool) []string {
	var remarks []string
	if quartzDays(words, given) {
		remarks = append(remarks, "Quartz counts Sunday as 1, here 1 is Monday")
	}
	if given == 6 && (words[hour] == "?" || words[month] == "?" || daysAsMonths(words)) {
		remarks = append(remarks, "six fields begin with the second and end with the day of week; "+
			"if these are minute to year, put a second in front: seven fields end with the year")
	}
	for i, word := range words {
		if items := strings.Split(word, ","); len(items) > 1 && (slices.Contains(items, "*") || slices.Contains(items, "?")) {
			remarks = append(remarks, fmt.Sprintf("%s %q: the * in the list matches any value, and the rest of it has no effect", fields[i].name, word))
		}
	}
	if eitherDay {
		remarks = append(remarks, "day of month and day of week are both set: a day matches when either does")
	}
	return remarks
}

// daysAsMonths reports whether six fields are also valid as minute to year, and more likely meant
// so: the month field looks like days of the week, and all other parts of a date are *.
func daysAsMonths(words []string) bool {
	anyHour := words[hour] == "*" && slices.Contains([]string{"*", "?"}, words[dayOfMonth]) && slices.Contains([]string{"*", "?"}, words[dayOfWeek])
	return anyHour && words[minute] != "*" && !strings.ContainsFunc(words[month], func(r rune) bool { return !strings.ContainsRune("1234567-,", r) })
}

// quartzDays reports whether a day of week is given by number in a spec that may have been written
// for Quartz: one with ?, L or #, or with more than five fields. Quartz does not accept 0.
func quartzDays(words []string, given int) bool {
	asQuartz := given > 5 || words[dayOfMonth] == "?"
	numeric := false
	for item := range strings.SplitSeq(words[dayOfWeek], ",") {
		base, _, _ := strings.Cut(item, "/")
		day, _, nth := strings.Cut(base, "#")
		if strings.HasPrefix(day, "0") {
			return false
		}
		if strings.ContainsAny(day, "0123456789") {
			numeric = true
			asQuartz = asQuartz || nth || strings.HasSuffix(strings.ToUpper(day), "L")
		}
	}
	return numeric && asQuartz
}

// Remark describes the effect of daylight saving on one tick: its local time does not exist or
// exists twice, or earlier local times were skipped because they do not exist. It returns "" for
// any other tick, and for an instant that is no tick.
func (s *Schedule) Remark(tick time.Time) string {
	unix := tick.Unix()
	at, ok := s.prev(unix)
	switch {
	case !ok || at != unix:
		return ""
	case s.every > 0:
		return s.limits.remarkAt()
	}
	if s.sets.fixed {
		return s.fixedRemark(unix)
	}
	return s.elapsedRemark(unix)
}

// remarkAt returns the remark on the one tick of an @at spec, and "" for the limits of another one.
func (l *limits) remarkAt() string {
	if l == nil {
		return ""
	}
	return l.remark
}

func (s *Schedule) fixedRemark(unix int64) string {
	p := s.period(unix)
	local := unix + p.offset
	if lost, ok := s.inGap(p); ok && unix == p.start {
		run := "; one run"
		if lost.first == lost.last {
			run = "; runs"
		}
		return lost.describe(local) + run + " at the end of the gap"
	}
	if s.repeats(p, unix) {
		return "first of two " + clock(local) + "; the second does not run"
	}
	return ""
}

func (s *Schedule) elapsedRemark(unix int64) string {
	p := s.period(unix)
	local := unix + p.offset
	switch {
	case local < p.reached:
		return "second of two " + clock(local)
	case s.repeats(p, unix):
		return "first of two " + clock(local)
	}
	if lost, ok := s.skippedBefore(unix); ok {
		return lost.describe(local) + "; skipped"
	}
	return ""
}

// repeats reports whether the clock will show the local time of unix again.
func (s *Schedule) repeats(p period, unix int64) bool {
	return p.end < future && periodAt(s.zone, p.end).opens() <= unix+p.offset
}

// skippedBefore returns the local times that the latest gap between a tick and the previous tick
// skipped.
func (s *Schedule) skippedBefore(unix int64) (missing, bool) {
	before, _ := s.prevNamed(unix - 1) // before the first tick of a spec with years: 1970
	for p := s.period(unix); p.start > before; p = periodAt(s.zone, p.start-1) {
		if lost, ok := s.inGap(p); ok {
			return lost, true
		}
	}
	return missing{}, false
}

// A missing has the first and the last local time of the spec that the clock jumped over; they may
// be equal.
type missing struct{ first, last int64 }

// inGap returns the local times of the spec in the gap before a period.
func (s *Schedule) inGap(p period) (missing, bool) {
	first, _ := s.sets.next(p.reached) // there is one: a tick follows
	if first >= p.opens() {
		return missing{}, false
	}
	last, _ := s.sets.prev(p.opens() - 1)
	return missing{first, last}, true
}

// describe returns the missing times relative to a local time: with their date if that is another
// one.
func (m missing) describe(local int64) string {
	day := floorDiv(local, daySeconds)
	show, on := clock, " on this day"
	if floorDiv(m.first, daySeconds) != day {
		show, on = dateAndClock, ""
	}
	if m.first == m.last {
		return show(m.first) + " does not exist" + on
	}
	return show(m.first) + " to " + show(m.last) + " do not exist" + on
}

func dateAndClock(local int64) string {
	return time.Unix(local, 0).UTC().Format("2006-01-02 ") + clock(local)
}

func clock(local int64) string {
	t := time.Unix(local, 0).UTC()
	if t.Second() == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05")
}
