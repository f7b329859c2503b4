package spec_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

var savingTests = []struct {
	spec, zone, from, through string
	want                      []string
}{
	// New York, spring: 02:00 to 03:00 does not exist on 2026-03-08.
	{"30 2 * * *", "America/New_York", "2026-03-07", "2026-03-10", []string{
		"2026-03-07 02:30:00 -05:00", "2026-03-08 03:00:00 -04:00", "2026-03-09 02:30:00 -04:00"}},
	{"0,15,30,45 2 * * *", "America/New_York", "2026-03-08", "2026-03-09", []string{"2026-03-08 03:00:00 -04:00"}},
	{"0,30 2,3 * * *", "America/New_York", "2026-03-08", "2026-03-09", []string{
		"2026-03-08 03:00:00 -04:00", "2026-03-08 03:30:00 -04:00"}},
	{"59 59 1 * * *", "America/New_York", "2026-03-08", "2026-03-09", []string{"2026-03-08 01:59:59 -05:00"}},
	{"30 2 8 3 *", "America/New_York", "2026-01-01", "2027-01-01", []string{"2026-03-08 03:00:00 -04:00"}},
	{"*/15 2 * * *", "America/New_York", "2026-03-08", "2026-03-09", nil},
	{"*/30 1-3 * * *", "America/New_York", "2026-03-08", "2026-03-09", []string{
		"2026-03-08 01:00:00 -05:00", "2026-03-08 01:30:00 -05:00",
		"2026-03-08 03:00:00 -04:00", "2026-03-08 03:30:00 -04:00"}},
	{"30 * * * *", "America/New_York", "2026-03-08 01:00", "2026-03-08 04:00", []string{
		"2026-03-08 01:30:00 -05:00", "2026-03-08 03:30:00 -04:00"}},

	// New York, autumn: 01:00 to 02:00 exists twice on 2026-11-01.
	{"30 1 * * *", "America/New_York", "2026-11-01", "2026-11-03", []string{
		"2026-11-01 01:30:00 -04:00", "2026-11-02 01:30:00 -05:00"}},
	{"0 1,2 * * *", "America/New_York", "2026-11-01", "2026-11-02", []string{
		"2026-11-01 01:00:00 -04:00", "2026-11-01 02:00:00 -05:00"}},
	{"0 * * * *", "America/New_York", "2026-11-01", "2026-11-01 03:00", []string{
		"2026-11-01 00:00:00 -04:00", "2026-11-01 01:00:00 -04:00",
		"2026-11-01 01:00:00 -05:00", "2026-11-01 02:00:00 -05:00", "2026-11-01 03:00:00 -05:00"}},
	{"*/30 1 * * *", "America/New_York", "2026-11-01", "2026-11-02", []string{
		"2026-11-01 01:00:00 -04:00", "2026-11-01 01:30:00 -04:00",
		"2026-11-01 01:00:00 -05:00", "2026-11-01 01:30:00 -05:00"}},

	{"30 1-1 1 11 *", "America/New_York", "2026-11-01", "2026-11-02", []string{
		"2026-11-01 01:30:00 -04:00", "2026-11-01 01:30:00 -05:00"}},

	// Saint John's, until 2011: 00:01 became 23:01 of the day before, which an exclusion may end at.
	{"*/30 23,0 * * * exclude=2010-11-07..2010-11-20", "America/St_Johns", "2010-11-06 20:00", "2010-11-07 12:00", []string{
		"2010-11-06 23:00:00 -02:30", "2010-11-06 23:30:00 -02:30", "2010-11-06 23:30:00 -03:30"}},
	{"*/30 23,0 * * * exclude=2010-10-20..2010-11-06", "America/St_Johns", "2010-11-06 20:00", "2010-11-07 12:00", []string{
		"2010-11-07 00:00:00 -02:30", "2010-11-07 00:00:00 -03:30", "2010-11-07 00:30:00 -03:30"}},

	// Cairo: midnight is missing on Friday 2026-04-24.
	{"0 9 * * 5", "Africa/Cairo", "2026-04-20", "2026-05-01", []string{"2026-04-24 09:00:00 +03:00"}},
	{"0 9 24 4 *", "Africa/Cairo", "2026-04-20", "2026-05-01", []string{"2026-04-24 09:00:00 +03:00"}},
	{"@daily", "Africa/Cairo", "2026-04-22 22:00", "2026-04-25", []string{
		"2026-04-23 00:00:00 +02:00", "2026-04-24 01:00:00 +03:00", "2026-04-25 00:00:00 +03:00"}},
	{"0 0 * * 5", "Africa/Cairo", "2026-04-20", "2026-04-30", []string{"2026-04-24 01:00:00 +03:00"}},
	{"0 0-1 * * *", "Africa/Cairo", "2026-04-23 12:00", "2026-04-24 12:00", []string{"2026-04-24 01:00:00 +03:00"}},
	// The hour before midnight exists twice on 2026-10-29.
	{"30 23 * * *", "Africa/Cairo", "2026-10-29", "2026-10-31", []string{
		"2026-10-29 23:30:00 +03:00", "2026-10-30 23:30:00 +02:00"}},
	{"30 23-23 * * *", "Africa/Cairo", "2026-10-29", "2026-10-30", []string{
		"2026-10-29 23:30:00 +03:00", "2026-10-29 23:30:00 +02:00"}},

	// Lord Howe: half an hour, back on 2026-04-05, forth on 2026-10-04.
	{"0 3 * * *", "Australia/Lord_Howe", "2026-04-05", "2026-04-06", []string{"2026-04-05 03:00:00 +10:30"}},
	{"0 3 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05", []string{"2026-10-04 03:00:00 +11:00"}},
	{"45 1 * * *", "Australia/Lord_Howe", "2026-04-05", "2026-04-06", []string{"2026-04-05 01:45:00 +11:00"}},
	{"15 2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05", []string{"2026-10-04 02:30:00 +11:00"}},
	{"15,30 2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05", []string{"2026-10-04 02:30:00 +11:00"}},
	{"15-45/15 2-2 * * *", "Australia/Lord_Howe", "2026-10-04", "2026-10-05", []string{
		"2026-10-04 02:30:00 +11:00", "2026-10-04 02:45:00 +11:00"}},
	{"*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05", "2026-04-06", []string{
		"2026-04-05 01:00:00 +11:00", "2026-04-05 01:15:00 +11:00", "2026-04-05 01:30:00 +11:00",
		"2026-04-05 01:45:00 +11:00", "2026-04-05 01:30:00 +10:30", "2026-04-05 01:45:00 +10:30"}},

	// Chatham: 03:45 becomes 02:45 on 2027-04-04, 02:45 becomes 03:45 on 2027-09-26.
	{"45 3 * * *", "Pacific/Chatham", "2027-04-04", "2027-04-06", []string{
		"2027-04-04 03:45:00 +12:45", "2027-04-05 03:45:00 +12:45"}},
	{"45 2 * * *", "Pacific/Chatham", "2027-04-04", "2027-04-05", []string{"2027-04-04 02:45:00 +13:45"}},
	{"45 2-3 * * *", "Pacific/Chatham", "2027-04-04", "2027-04-05", []string{
		"2027-04-04 02:45:00 +13:45", "2027-04-04 02:45:00 +12:45", "2027-04-04 03:45:00 +12:45"}},
	{"0 3 * * *", "Pacific/Chatham", "2027-09-26", "2027-09-27", []string{"2027-09-26 03:45:00 +13:45"}},

	// Apia: there was no 2011-12-30.
	{"0 9 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01", []string{
		"2011-12-29 09:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2011-12-31 09:00:00 +14:00"}},
	{"0 0 * * *", "Pacific/Apia", "2011-12-28 12:00", "2012-01-01", []string{
		"2011-12-29 00:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2012-01-01 00:00:00 +14:00"}},
	{"0 9 30 12 *", "Pacific/Apia", "2010-01-01", "2013-01-01", []string{
		"2010-12-30 09:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2012-12-30 09:00:00 +14:00"}},
	{"0 9 * * 5", "Pacific/Apia", "2011-12-28", "2012-01-03", []string{"2011-12-31 00:00:00 +14:00"}},
	{"0 */12 * * *", "Pacific/Apia", "2011-12-29", "2011-12-31 12:00", []string{
		"2011-12-29 00:00:00 -10:00", "2011-12-29 12:00:00 -10:00",
		"2011-12-31 00:00:00 +14:00", "2011-12-31 12:00:00 +14:00"}},
	// Kwajalein had no 1993-08-21.
	{"0 9 * * *", "Pacific/Kwajalein", "1993-08-20", "1993-08-23", []string{
		"1993-08-20 09:00:00 -12:00", "1993-08-22 00:00:00 +12:00", "1993-08-22 09:00:00 +12:00"}},

	// Santiago: 24:00 becomes 23:00 on 2026-04-04, midnight is missing on 2026-09-06.
	{"30 23 * * *", "America/Santiago", "2026-04-04", "2026-04-05", []string{"2026-04-04 23:30:00 -03:00"}},
	{"30 23,0 * * *", "America/Santiago", "2026-04-04 12:00", "2026-04-05 12:00", []string{
		"2026-04-04 23:30:00 -03:00", "2026-04-05 00:30:00 -04:00"}},
	{"30 * * * *", "America/Santiago", "2026-04-04 23:00", "2026-04-05 01:00", []string{
		"2026-04-04 23:30:00 -03:00", "2026-04-04 23:30:00 -04:00", "2026-04-05 00:30:00 -04:00"}},
	{"@weekly", "America/Santiago", "2026-09-01", "2026-09-10", []string{"2026-09-06 01:00:00 -03:00"}},

	// Beirut: midnight is missing on Sunday 2026-03-29.
	{"@daily", "Asia/Beirut", "2026-03-28 12:00", "2026-03-30", []string{
		"2026-03-29 01:00:00 +03:00", "2026-03-30 00:00:00 +03:00"}},
	{"0 1 * * *", "Asia/Beirut", "2026-03-28 12:00", "2026-03-30", []string{"2026-03-29 01:00:00 +03:00"}},
	{"30 0 * * 0", "Asia/Beirut", "2026-03-23", "2026-03-30", []string{"2026-03-29 01:00:00 +03:00"}},

	// Sao Paulo: midnight was missing on 2018-11-04.
	{"@daily", "America/Sao_Paulo", "2018-11-03 12:00", "2018-11-05", []string{
		"2018-11-04 01:00:00 -02:00", "2018-11-05 00:00:00 -02:00"}},

	// Monrovia moved by 44 minutes and 30 seconds in 1972.
	{"30 0 7 1 *", "Africa/Monrovia", "1972-01-06", "1972-01-09", []string{"1972-01-07 00:44:30 +00:00"}},

	// The last day of a leap year, where package time gives wrong bounds.
	{"0 0,12 * * *", "America/New_York", "2028-12-30 18:00", "2029-01-01", []string{
		"2028-12-31 00:00:00 -05:00", "2028-12-31 12:00:00 -05:00", "2029-01-01 00:00:00 -05:00"}},
	// Ciudad Juarez moved by an hour at midnight of 2022-11-30.
	{"0 12 * * *", "America/Ciudad_Juarez", "2022-11-29", "2022-12-01", []string{
		"2022-11-29 12:00:00 -06:00", "2022-11-30 12:00:00 -07:00"}},
	{"45 23 * * *", "America/Ciudad_Juarez", "2022-11-29", "2022-12-01", []string{
		"2022-11-29 23:45:00 -06:00", "2022-11-30 23:45:00 -07:00"}},
}

// Each row names a day or two and all ticks in them, as local time with its
// offset.
func TestDaylightSaving(t *testing.T) {
	for _, tt := range savingTests {
		loc := zone(t, tt.zone)
		s := parse(t, tt.spec, loc)
		from, through := instant(t, tt.from, loc), instant(t, tt.through, loc)
		var got []string
		for at := s.Next(from.Add(-time.Second)); !at.IsZero() && !at.After(through) && len(got) < 20; at = s.Next(at) {
			got = append(got, at.Format(layout))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q in %s from %s:\n got %q\nwant %q", tt.spec, tt.zone, tt.from, got, tt.want)
		}
		checkBetween(t, s, from, through, tt.want)
	}
}

// checkBetween tests many instants, not only ticks.
func checkBetween(t *testing.T, s *spec.Schedule, from, through time.Time, want []string) {
	t.Helper()
	for at := from; at.Before(through); at = at.Add(through.Sub(from)/500 + 1) {
		next, prev := "", ""
		if tick := s.Next(at); !tick.After(through) {
			next = tick.Format(layout)
		}
		if tick := s.Prev(at); !tick.Before(from) {
			prev = tick.Format(layout)
		}
		after := slices.IndexFunc(want, func(text string) bool { return instant(t, text, s.Zone()).After(at) })
		if after < 0 {
			after = len(want)
		}
		around := append(append([]string{""}, want...), "")
		if prev != around[after] || next != around[after+1] {
			t.Errorf("%q in %v at %s: prev %q, next %q, want %q and %q", s.Text(), s.Zone(),
				at.Format(layout), prev, next, around[after], around[after+1])
		}
	}
}

func TestRemark(t *testing.T) {
	tests := []struct{ spec, zone, tick, want string }{
		// Fixed: a gap, a repeat.
		{"30 2 * * *", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:30 does not exist on this day; runs at the end of the gap"},
		{"30 30 2 * * *", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:30:30 does not exist on this day; runs at the end of the gap"},
		{"0,30 2,3 * * *", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:00 to 02:30 do not exist on this day; one run at the end of the gap"},
		{"0,30 2,3 * * *", "America/New_York", "2026-03-08 03:30:00 -04:00", ""},
		{"30 2 * * *", "America/New_York", "2026-03-09 02:30:00 -04:00", ""},
		{"30 1 * * *", "America/New_York", "2026-11-01 01:30:00 -04:00", "first of two 01:30; the second does not run"},
		{"30 1 * * *", "America/New_York", "2026-11-01 01:30:00 -05:00", ""}, // no tick
		{"0 9 * * *", "America/New_York", "2026-11-01 01:30:00 -04:00", ""},  // no tick
		{"30 1 * * *", "America/New_York", "2026-11-02 01:30:00 -05:00", ""},
		{"0 9 * * *", "Pacific/Apia", "2011-12-31 00:00:00 +14:00", "2011-12-30 09:00 does not exist; runs at the end of the gap"},
		{"45 23 * * *", "Africa/Cairo", "2026-10-29 23:45:00 +03:00", "first of two 23:45; the second does not run"},

		// Elapsed time: skipped, and both of a repeat.
		{"*/30 2-3 * * *", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:00 to 02:30 do not exist on this day; skipped"},
		{"*/30 2-3 * * *", "America/New_York", "2026-03-08 03:30:00 -04:00", ""},
		{"0 */30 2-3 8 3 ? 2026", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:00 to 02:30 do not exist on this day; skipped"},
		{"0 12-12 * * *", "America/New_York", "2026-03-08 12:00:00 -04:00", ""},
		{"30 2-2 * * *", "America/New_York", "2026-03-09 02:30:00 -04:00", "2026-03-08 02:30 does not exist; skipped"},
		{"0 * * * *", "America/New_York", "2026-11-01 01:00:00 -04:00", "first of two 01:00"},
		{"0 * * * *", "America/New_York", "2026-11-01 01:00:00 -05:00", "second of two 01:00"},
		{"0 * * * *", "America/New_York", "2026-11-01 02:00:00 -05:00", ""},

		// One instant, which is fixed.
		{"@at 2026-03-08T02:30", "America/New_York", "2026-03-08 03:00:00 -04:00", "02:30 does not exist on this day; runs at the end of the gap"},
		{"@at 2026-11-01T01:30", "America/New_York", "2026-11-01 01:30:00 -04:00", "first of two 01:30; the second does not run"},
		{"@at 2026-03-08T03:00", "America/New_York", "2026-03-08 03:00:00 -04:00", ""},
		{"@at 2026-11-01T01:30:00-04:00", "America/New_York", "2026-11-01 01:30:00 -04:00", ""},

		// Nothing to say.
		{"0 * * * *", "UTC", "2026-11-01 02:00:00 +00:00", ""},
		{"@every 1h", "America/New_York", "2026-11-01 01:00:00 -05:00", ""},
		{"0 0 1 1 *", "UTC", "0001-01-01 00:00:00 +00:00", ""},
	}
	for _, tt := range tests {
		s := parse(t, tt.spec, zone(t, tt.zone))
		if got := s.Remark(instant(t, tt.tick, time.UTC)); got != tt.want {
			t.Errorf("%q in %s, %s:\n got %q\nwant %q", tt.spec, tt.zone, tt.tick, got, tt.want)
		}
	}
}
