package spec_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronce/cronce/scheduler/spec"
)

var fuzzSpecs = []string{
	"", "TZ=", "TZ=UTC", "TZ=0", "TZ=TZ=TZ=", "CRON_TZ= ", ", * * * * *", "1,2,,3 * * * *", "*-5 * * * *", "/5 * * * *",
	"*/100 * * * *", "0 0 30 2 *", "0 0 29 2 *", "0/5 * * * * ?", "0 0 9 ? * 6#3", "0 0 9 LW * ?", "0 0 9 * * ? 2027",
	"0 9 * * 5-7", "0 9 * * 7/2", "0 9 * * sat-sun", "@daily", "@every 90s", "@every -1h", "@every", "@every 1ns",
	"CRON_TZ=Asia/Shanghai 0 9 * * 1-5", "TZ=Pacific/Chatham 45 3 * * *", "TZ=Africa/Cairo @daily",
	"TZ=Pacific/Apia 0 9 30 12 *", "TZ=Australia/Lord_Howe */7 1-2 * * *", "TZ=America/New_York 0,30 1,2 * * *",
	"0 9 L * *", "0 9 L-3,LW,15W * 5L,FRI#2", "0 0 9 ? 2 MON#5", "0 30 2 L-28W 3 ? 2027-2040/3,2199", "H H * * *", "0~9 * * * *",
	"TZ=America/New_York 0 30 2 * * SUN#2 2027/2", "TZ=Pacific/Apia 0 9 L-1 12 *", "0 9 5,* * 1", "0 10 * * ? *", "0 9 * * 1 2027",
	"TZ=Local * * * * *", "TZ=../.. * * * * *", "99999999999999999999 * * * *", "\x00 * * * *", "é * * * *",
}

// Parse never panics. It explains each refusal. An accepted spec has ticks that are after the
// requested instant, soon, and at the local time of the spec.
func FuzzParse(f *testing.F) {
	for i, text := range fuzzSpecs {
		f.Add(text, int64(i)*123_456_789_012)
	}
	newYork := zone(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string, ms int64) {
		s, err := spec.Parse(text, newYork)
		if err != nil {
			fault, ok := errors.AsType[*spec.Error](err)
			if s != nil || !ok || fault.Reason == "" || fault.Spec != strings.TrimSpace(text) {
				t.Fatalf("%q: %v, %#v", text, s, err)
			}
			return
		}
		again, err := spec.Parse(s.Text(), s.Zone())
		if err != nil || again.Revision(time.UnixMilli(0)) != s.Revision(time.UnixMilli(0)) {
			t.Fatalf("%q does not parse again: %v", s.Text(), err)
		}
		at := time.UnixMilli(ms % (200 * 366 * 86_400_000))
		checkTick(t, s, at, s.Next(at))
	})
}

// checkTick compares a tick with the meaning of its schedule as far as this is possible without the
// fields.
func checkTick(t *testing.T, s *spec.Schedule, at, next time.Time) {
	t.Helper()
	fields := strings.Fields(s.Text())
	if strings.Contains(fields[0], "TZ=") {
		fields = fields[1:]
	}
	years := 17
	switch {
	case len(fields) == 7 && next.IsZero():
		return // its years are over, or gaps skip its ticks
	case len(fields) == 7:
		years = 240
	case strings.Contains(s.Text(), "#"):
		years = 41 // the fifth of a weekday in a February
	}
	if !next.After(at) || next.After(at.AddDate(years, 0, 0)) && s.Every() == 0 {
		t.Fatalf("%q in %v: Next(%v) = %v", s.Text(), s.Zone(), at.UTC(), next)
	}
	if next.Nanosecond() != 0 {
		t.Fatalf("%q: tick %v is no whole second", s.Text(), next)
	}
	if every := int64(s.Every() / time.Second); every > 0 {
		if next.Unix()%every != 0 || next.Sub(at) > s.Every() {
			t.Fatalf("%q: Next(%v) = %v", s.Text(), at.UTC(), next)
		}
		return
	}
	start, _ := next.ZoneBounds()
	if theirs := robfigSets(s.Text()); theirs != nil && !start.Equal(next) && !shows(theirs, next) {
		t.Fatalf("%q in %v: tick %v is not in the field sets", s.Text(), s.Zone(), next)
	}
	s.Remark(next)
	s.Remarks()
}

// robfigSets returns the field sets of a spec, or nil if robfig/cron does not accept the spelling.
func robfigSets(text string) *cron.SpecSchedule {
	fields := strings.Fields(text)
	if strings.Contains(fields[0], "TZ=") {
		fields = fields[1:]
	}
	if len(fields) == 5 {
		fields = append([]string{"0"}, fields...)
	}
	parsed, err := robfig.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil
	}
	return parsed.(*cron.SpecSchedule)
}

// shows reports whether a clock that shows t is in the field sets.
func shows(s *cron.SpecSchedule, t time.Time) bool {
	in := func(set uint64, value int) bool { return set>>value&1 != 0 }
	const star = 63
	day, week := in(s.Dom, t.Day()), in(s.Dow, int(t.Weekday()))
	either := !in(s.Dom, star) && !in(s.Dow, star) && (day || week)
	return in(s.Second, t.Second()) && in(s.Minute, t.Minute()) && in(s.Hour, t.Hour()) &&
		in(s.Month, int(t.Month())) && (either || day && week)
}

func FuzzNextPrev(f *testing.F) {
	for i, text := range fuzzSpecs {
		f.Add(text, "Pacific/Chatham", int64(i)*59_000_000_123)
		f.Add(text, "America/New_York", 1_772_953_200_000+int64(i)*900_000) // around 2026-03-08
		f.Add(text, "Pacific/Apia", 1_325_239_200_000+int64(i)*3_600_000)   // around 2011-12-30
	}
	f.Fuzz(func(t *testing.T, text, name string, ms int64) {
		loc, err := time.LoadLocation(name)
		if err != nil || loc == time.Local {
			return // no zone
		}
		s, err := spec.Parse(text, loc)
		if err != nil {
			return // no spec
		}
		checkInverse(t, s, time.UnixMilli(ms))
	})
}
