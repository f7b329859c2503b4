package spec_test

import (
	"archive/zip"
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

const quarter = 15 * 60

// The years of the oracle. The last one is a leap year.
var (
	oracleFrom = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	oracleTo   = time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
)

// oracleSpecs are tried in addition to a daily spec for each quarter of an hour. All their times
// are whole quarters.
var oracleSpecs = []struct {
	text  string
	fixed bool
	match func(time.Time) bool
}{
	{"0 0,30 1,2,3 * * *", true, func(t time.Time) bool {
		return (t.Minute() == 0 || t.Minute() == 30) && t.Hour() >= 1 && t.Hour() <= 3
	}},
	{"15,45 0,23 * * SUN,FRI,6", true, func(t time.Time) bool {
		return t.Minute()%30 == 15 && (t.Hour() == 0 || t.Hour() == 23) &&
			(t.Weekday() == time.Sunday || t.Weekday() >= time.Friday)
	}},
	{"0 0 1,29 * 0", true, func(t time.Time) bool {
		return t.Hour() == 0 && t.Minute() == 0 && (t.Day() == 1 || t.Day() == 29 || t.Weekday() == time.Sunday)
	}},
	{"*/15 * * * *", false, func(time.Time) bool { return true }},
	{"30 * * * *", false, func(t time.Time) bool { return t.Minute() == 30 }},
	{"0 0 */6 * * *", false, func(t time.Time) bool { return t.Minute() == 0 && t.Hour()%6 == 0 }},
	{"45 1-3 * * 5-7", false, func(t time.Time) bool {
		return t.Minute() == 45 && t.Hour() >= 1 && t.Hour() <= 3 && (t.Weekday() == time.Sunday || t.Weekday() >= time.Friday)
	}},
	{"0 0/15 0-2 24/1 3,4,9-11 ?", false, func(t time.Time) bool {
		return t.Hour() <= 2 && t.Day() >= 24 && (t.Month() == 3 || t.Month() == 4 || t.Month() >= 9 && t.Month() <= 11)
	}},
	{"0 30 1,2 L,L-6W * SUN#2,0L 2026-2028/2", true, func(t time.Time) bool {
		days := isLast(t, 0) || isNear(t, lastDay(t)-6) || t.Weekday() == time.Sunday && (isNth(t, 2) || isLastWeek(t))
		return t.Minute() == 30 && (t.Hour() == 1 || t.Hour() == 2) && days && (t.Year() == 2026 || t.Year() == 2028)
	}},
	{"*/30 0-3 ? * SUN#1,SUNL,FRI#4", false, func(t time.Time) bool {
		days := t.Weekday() == time.Sunday && (isNth(t, 1) || isLastWeek(t)) || t.Weekday() == time.Friday && isNth(t, 4)
		return t.Minute()%30 == 0 && t.Hour() <= 3 && days
	}},
}

// TestOracle compares every zone of the database, for three years, with brute force. Zones whose
// clocks agree over these years share the brute force. Each zone is compared on its own: one of
// each group on every day, and the others on the days around changes and on some in between.
func TestOracle(t *testing.T) {
	t.Parallel()
	groups := map[string][]string{}
	for _, name := range zoneNames(t) {
		loc := zone(t, name)
		_, offset := oracleFrom.In(loc).Zone()
		key := fmt.Sprint(offset)
		for _, unix := range changes(loc, oracleFrom, oracleTo) {
			_, offset := time.Unix(unix, 0).In(loc).Zone()
			key += fmt.Sprint(" ", unix, offset)
		}
		groups[key] = append(groups[key], name)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		names := groups[key]
		t.Run(strings.ReplaceAll(names[0], "/", "_"), func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, zone(t, names[0]))
			o.compare(t, names[0], [][2]int64{{oracleFrom.Unix(), oracleTo.Unix()}})
			for _, name := range names[1:] {
				o.compare(t, name, o.days)
			}
		})
	}
}

// oracle holds the ticks of all specs in one clock.
type oracle struct {
	daily [24 * 4][]int64 // by quarter of the day
	other [][]int64       // by index of oracleSpecs
	days  [][2]int64      // from and to: around changes, and every fortieth
}

func newOracle(t *testing.T, loc *time.Location) *oracle {
	w := walkClock(loc, oracleFrom.AddDate(0, 0, -2), oracleTo, quarter)
	o := &oracle{}
	for unix, local := range w.once() {
		daily := &o.daily[local/quarter%(24*4)]
		*daily = append(*daily, unix)
	}
	for _, row := range oracleSpecs {
		all := w.elapsed()
		if row.fixed {
			all = w.once()
		}
		o.other = append(o.other, ticks(all, row.match))
	}
	const day = 86400
	for unix := oracleFrom.Unix(); unix < oracleTo.Unix(); unix += 40 * day {
		o.days = append(o.days, [2]int64{unix, unix + day})
	}
	for _, unix := range changes(loc, oracleFrom, oracleTo) {
		if unix%quarter != 0 {
			t.Fatalf("%v changes at %v, which the walk by quarters cannot see", loc, time.Unix(unix, 0).UTC())
		}
		o.days = append(o.days, [2]int64{max(unix-2*day, oracleFrom.Unix()), min(unix+2*day, oracleTo.Unix())})
	}
	checkRule(t, w, o.daily[:])
	return o
}

// checkRule compares the brute force itself with the documented rule: a local time that exists has
// one tick, at the first instant that shows it; one that does not exist has its tick when the clock
// jumps over it.
func checkRule(t *testing.T, w walk, daily [][]int64) {
	total := 0
	for _, ticks := range daily {
		total += len(ticks)
	}
	low, high := slices.Min(w.local), slices.Max(w.local)
	first := make([]int64, (high-low)/w.step+1) // by local time
	for i, local := range slices.Backward(w.local) {
		first[(local-low)/w.step] = w.unix(i)
	}
	for i, unix := range first {
		local := low + int64(i)*w.step
		if unix == 0 { // the clock jumped over it
			unix = w.unix(slices.IndexFunc(w.local, func(shown int64) bool { return shown > local }))
		}
		if _, ok := slices.BinarySearch(daily[local/quarter%(24*4)], unix); !ok {
			t.Fatalf("local %v has no tick at %v", time.Unix(local, 0).UTC(), time.Unix(unix, 0).UTC())
		}
	}
	if total != len(first) {
		t.Fatalf("%d ticks for %d local times", total, len(first))
	}
}

func (o *oracle) compare(t *testing.T, name string, spans [][2]int64) {
	loc := zone(t, name)
	for of, want := range o.daily {
		compare(t, parse(t, fmt.Sprintf("%d %d * * *", of%4*15, of/4), loc), want, spans)
	}
	for i, want := range o.other {
		s := parse(t, oracleSpecs[i].text, loc)
		if s.Fixed() != oracleSpecs[i].fixed {
			t.Errorf("%q: Fixed() = %v", s.Text(), s.Fixed())
		}
		compare(t, s, want, spans)
	}
}

// compare compares Next and Prev with ticks in order, within spans.
func compare(t *testing.T, s *spec.Schedule, want []int64, spans [][2]int64) {
	t.Helper()
	for _, span := range spans {
		at := span[0] - 1
		low, _ := slices.BinarySearch(want, span[0])
		for i := low; i < len(want) && want[i] < span[1]; i++ {
			next := s.NextMilli(at * 1000)
			if next != want[i]*1000 {
				t.Fatalf("%q in %v: after %v comes %v, want %v", s.Text(), s.Zone(),
					time.Unix(at, 0).UTC(), time.UnixMilli(next).UTC(), time.Unix(want[i], 0).UTC())
			}
			if prev := s.PrevMilli(next - 1); i > 0 && prev != want[i-1]*1000 {
				t.Fatalf("%q in %v: before %v comes %v, want %v", s.Text(), s.Zone(),
					time.UnixMilli(next).UTC(), time.UnixMilli(prev).UTC(), time.Unix(want[i-1], 0).UTC())
			}
			at = want[i]
		}
		if next := s.NextMilli(at * 1000); next != 0 && next < span[1]*1000 {
			t.Fatalf("%q in %v: after %v comes %v, want none before %v", s.Text(), s.Zone(),
				time.Unix(at, 0).UTC(), time.UnixMilli(next).UTC(), time.Unix(span[1], 0).UTC())
		}
	}
}

// TestOracleBySecond compares to the second, around changes of every kind.
func TestOracleBySecond(t *testing.T) {
	t.Parallel()
	places := []struct {
		zone string
		year int
	}{
		{"America/New_York", 2026}, {"Africa/Cairo", 2026}, {"Australia/Lord_Howe", 2026}, {"Pacific/Chatham", 2027},
		{"America/Santiago", 2026}, {"Asia/Beirut", 2026}, {"Africa/Casablanca", 2026}, {"Antarctica/Troll", 2026},
		{"Pacific/Apia", 2011}, {"Pacific/Kwajalein", 1969}, {"Pacific/Kwajalein", 1993}, {"America/Sao_Paulo", 2018},
		{"Africa/Monrovia", 1972}, {"America/New_York", 1883}, {"Asia/Pyongyang", 2018}, {"America/Caracas", 2007},
	}
	for _, place := range places {
		t.Run(fmt.Sprint(strings.ReplaceAll(place.zone, "/", "_"), place.year), func(t *testing.T) {
			t.Parallel()
			loc := zone(t, place.zone)
			start := time.Date(place.year, 1, 1, 0, 0, 0, 0, time.UTC)
			found := changes(loc, start, start.AddDate(1, 0, 0))
			if len(found) == 0 {
				t.Fatalf("no change in %d", place.year)
			}
			for _, unix := range found {
				compareBySecond(t, loc, time.Unix(unix, 0))
			}
		})
	}
}

var secondSpecs = []struct {
	text  string
	fixed bool
	match func(time.Time) bool
}{
	{"7,59 0,29,59 0,1,2,3,23 * * *", true, func(t time.Time) bool {
		return (t.Second() == 7 || t.Second() == 59) && (t.Minute() == 0 || t.Minute() == 29 || t.Minute() == 59) &&
			(t.Hour() <= 3 || t.Hour() == 23)
	}},
	{"30 44 0,12 * * *", true, func(t time.Time) bool {
		return t.Second() == 30 && t.Minute() == 44 && t.Hour()%12 == 0
	}},
	{"*/7 */9 * * * *", false, func(t time.Time) bool { return t.Second()%7 == 0 && t.Minute()%9 == 0 }},
	{"1 1 1-4 * * *", false, func(t time.Time) bool {
		return t.Second() == 1 && t.Minute() == 1 && t.Hour() >= 1 && t.Hour() <= 4
	}},
}

func compareBySecond(t *testing.T, loc *time.Location, change time.Time) {
	t.Helper()
	from, to := change.Add(-30*time.Hour), change.Add(30*time.Hour)
	w := walkClock(loc, from, to, 1)
	span := [][2]int64{{change.Unix() - 6*3600, to.Unix()}}
	for _, row := range secondSpecs {
		all := w.elapsed()
		if row.fixed {
			all = w.once()
		}
		compare(t, parse(t, row.text, loc), ticks(all, row.match), span)
	}
}

// zoneNames returns the names of the database of Go 1.26, plus any further names of this toolchain.
func zoneNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(text))
	if r, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip")); err == nil {
		defer r.Close()
		for _, f := range r.File {
			if !strings.HasSuffix(f.Name, "/") {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 590 {
		t.Fatalf("%d zones, want at least 590", len(names))
	}
	return names
}
