package spec_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

// limitedTests are specs with limits, from before one change of the clock until after the next, and
// New Year.
var limitedTests = []struct {
	spec   string
	zone   string
	limits spec.Limits
}{
	{"0 9 * * MON", "Europe/Berlin", spec.Limits{NotBefore: "2026-10-05T09:00", Every: 2}},
	{"0 9 * * MON", "Europe/Berlin", spec.Limits{NotBefore: "2026-10-05T09:00", Until: "2027-03-29T09:00", Every: 2, Exclude: []string{"2026-12-24..2027-01-01", "2026-11-16"}}},
	{"0 * * * *", "America/New_York", spec.Limits{NotBefore: "2026-10-01T03:00:00Z", Every: 5}},
	{"30 2 * * *", "Europe/Berlin", spec.Limits{NotBefore: "2026-09-01", Every: 3, Exclude: []string{"SAT", "sun"}}},
	{"*/20 * * * *", "Europe/Berlin", spec.Limits{Exclude: []string{"2026-12-25", "2026-12-24..2027-01-01", "2027-01-02", "2026-10-25", "2027-03-28", "WED"}}},
	{"*/30 * * * *", "Europe/Berlin", spec.Limits{Exclude: []string{"2026-10-15..2026-11-03", "2027-03-20..2027-04-05"}}}, // over a change of the clock
	{"*/30 * * * *", "America/Sao_Paulo", spec.Limits{Until: "2027-02-01"}},
	{"*/30 * * * *", "Pacific/Chatham", spec.Limits{NotBefore: "2026-09-28T00:00", Every: 49, Exclude: []string{"MON", "TUE", "THU"}}},
	{"@every 5h", "Europe/Berlin", spec.Limits{NotBefore: "2026-11-01T00:00:00Z", Every: 3, Exclude: []string{"SUN", "2026-12-31..2027-01-01"}}},
	{"@every 50m", "Asia/Kathmandu", spec.Limits{Exclude: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI"}}},
	{"0 0 * * *", "Atlantic/Azores", spec.Limits{NotBefore: "2026-10-01", Every: 2, Exclude: []string{"2026-10-25"}}},
	{"0 9 L * *", "", spec.Limits{NotBefore: "2026-10-01", Until: "2027-03-31T09:00:01Z"}},
	{"@daily", "Asia/Shanghai", spec.Limits{Until: "2027-01-01"}},
	{"", "Europe/Berlin", spec.Limits{At: "2027-03-28T02:30"}},
	{"", "", spec.Limits{At: "2026-12-31T23:59:59Z"}},
}

// bruteTicks walks over all ticks of a spec without limits, and applies the limits to them by their
// texts alone.
func bruteTicks(t *testing.T, plain *spec.Schedule, l spec.Limits, from, to time.Time) (all []int64) {
	t.Helper()
	local := func(text string, or time.Time) time.Time {
		if text == "" {
			return or
		}
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
			if at, err := time.ParseInLocation(layout, text, plain.Zone()); err == nil {
				return at
			}
		}
		t.Fatalf("time %q", text)
		return or
	}
	begin, end := local(l.NotBefore, from), local(l.Until, to.Add(time.Second))
	number := 0
	for at := plain.Next(begin.Add(-time.Second)); !at.IsZero() && at.Before(end) && !at.After(to); at = plain.Next(at) {
		number++
		day := at.Format(time.DateOnly)
		out := slices.ContainsFunc(l.Exclude, func(e string) bool {
			first, last, ok := strings.Cut(e, "..")
			if !ok {
				last = first
			}
			return strings.EqualFold(e, at.Format("Mon")) || first <= day && day <= last
		})
		if !out && !at.Before(from) && (l.Every == 0 || (number-1)%l.Every == 0) {
			all = append(all, at.Unix())
		}
	}
	return all
}

// Limits leave the same ticks as a walk over all of them, over two changes of the clock and New
// Year: forwards, backwards, and counted.
func TestLimitsAgainstAWalk(t *testing.T) {
	t.Parallel()
	from, to := instant(t, "2026-09-27 00:00", time.UTC), instant(t, "2027-04-20 00:00", time.UTC)
	for _, test := range limitedTests {
		text, err := test.limits.Append(test.spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			place := time.UTC
			if test.zone != "" {
				place = zone(t, test.zone)
			}
			s := parse(t, text, place)
			var want []int64
			if test.limits.At == "" {
				want = bruteTicks(t, parse(t, test.spec, place), test.limits, from, to)
			} else {
				want = []int64{map[string]int64{"": 1798761599, "Europe/Berlin": instant(t, "2027-03-28 01:00", time.UTC).Unix()}[test.zone]}
			}
			if len(want) == 0 {
				t.Fatal("the walk finds nothing")
			}
			var got []int64
			for at := s.Next(from.Add(-time.Second)); !at.IsZero() && !at.After(to); at = s.Next(at) {
				got = append(got, at.Unix())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d ticks, want %d; first difference: %s", len(got), len(want), difference(got, want))
			}
			for step, i := int64(977), 0; from.Unix()+int64(i)*step < to.Unix(); i += 7 {
				at := from.Unix() + int64(i)*step
				n, found := slices.BinarySearch(want, at)
				if found {
					n++
				}
				prev := s.PrevMilli(at * 1000)
				if n > 0 && prev != want[n-1]*1000 || n == 0 && prev >= from.UnixMilli() {
					t.Fatalf("Prev(%v) = %v, want tick %d", time.Unix(at, 0).UTC(), time.UnixMilli(prev).UTC(), n-1)
				}
				if count := s.Count(from.UnixMilli()-1000, at*1000, math.MaxInt); count != n {
					t.Fatalf("%d ticks until %v, want %d", count, time.Unix(at, 0).UTC(), n)
				}
				if count, rest := s.Count(at*1000, to.UnixMilli(), math.MaxInt), len(want)-n; count != rest || s.Count(at*1000, to.UnixMilli(), 3) != min(rest, 3) {
					t.Fatalf("%d ticks from %v on, want %d", count, time.Unix(at, 0).UTC(), rest)
				}
			}
			for _, tick := range want {
				if s.PrevMilli(tick*1000) != tick*1000 || s.NextMilli(tick*1000-1) != tick*1000 || s.LeftOut(time.Unix(tick, 0)) != "" {
					t.Fatalf("%v is no tick: %s", time.Unix(tick, 0).UTC(), s.LeftOut(time.Unix(tick, 0)))
				}
			}
		})
	}
}

func difference(got, want []int64) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%v, want %v", time.Unix(got[i], 0).UTC(), time.Unix(want[i], 0).UTC())
		}
	}
	return "one is shorter"
}

// The reason why an instant is no tick contains the limit and its value.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	limited := parse(t, "0 3 * * * not_before=2026-12-07 until=2027-02-01 every=2 exclude=2026-12-25,SUN", berlin)
	once := parse(t, "@at 2027-03-28T02:30", berlin)
	for _, test := range []struct {
		s        *spec.Schedule
		at, want string
	}{
		{limited, "2026-12-25 03:00", "2026-12-25 is excluded"},
		{limited, "2026-12-13 03:00", "2026-12-13 is excluded"},
		{limited, "2026-12-06 03:00", "it is before not_before, 2026-12-07T00:00:00+01:00"},
		{limited, "2027-02-01 03:00", "it is not before until, 2027-02-01T00:00:00+01:00"},
		{limited, "2026-12-08 03:00", "it is number 2 since not_before, 2026-12-07T00:00:00+01:00, and every 2 leaves it out"},
		{limited, "2026-12-07 03:00", ""},
		{limited, "2026-12-25 04:00", ""},
		{parse(t, "0 3 * * * until=2027-02-01T03:00", nil), "2027-02-01 03:00", "it is not before until, 2027-02-01T03:00:00Z"},
		{once, "2027-03-28 03:00", ""},
		{once, "2027-03-28 04:00", "the only tick is at 2027-03-28T03:00:00+02:00"},
		{parse(t, "0 3 * * *", nil), "2026-12-25 03:00", ""},
	} {
		if got := test.s.LeftOut(instant(t, test.at, test.s.Zone())); got != test.want {
			t.Errorf("%s at %s: %q, want %q", test.s.Text(), test.at, got, test.want)
		}
	}
	if got := limited.LeftOut(instant(t, "2026-12-25 03:00", berlin).Add(time.Millisecond)); got != "" {
		t.Errorf("a millisecond beside it: %q", got)
	}
}

// A fault of a limit contains the limit, its value and the allowed values, even if the limits leave
// no tick. Ticks in the past are no fault.
func TestParseRefusesLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, field, value, reason string }{
		{"0 3 * * * every=2", "every", "2", "needs not_before"},
		{"0 3 * * * not_before=2026-12-07 every=1", "every", "1", "must be 2 to 1000"},
		{"0 3 * * * not_before=2026-12-07 every=1001", "every", "1001", "must be 2 to 1000"},
		{"0 3 * * * not_before=2026-12-07 every=", "every", "", "must be 2 to 1000"},
		{"0 3 * * * not_before=2026-13-07", "not_before", "2026-13-07", "must be an instant"},
		{"0 3 * * * not_before=1969-12-31T00:00:00Z", "not_before", "1969-12-31T00:00:00Z", "1970-01-01"},
		{"0 3 * * * not_before=2200-01-01T00:00:00Z", "not_before", "2200-01-01T00:00:00Z", "2199-12-31"},
		{"0 3 * * * until=2026-12-07T00:00:00.5Z", "until", "2026-12-07T00:00:00.5Z", "whole second"},
		{"0 3 * * * until=2026-12-07T00:00:00.5", "until", "2026-12-07T00:00:00.5", "whole second"},
		{"0 3 * * * until=2200-01-01", "until", "2200-01-01", "2199-12-31"},
		{"0 3 * * * exclude=", "exclude", "", "must be a date"},
		{"0 3 * * * exclude=SAT,2026-02-30", "exclude", "2026-02-30", "must be a date"},
		{"0 3 * * * exclude=2027-01-01..2026-12-24", "exclude", "2027-01-01..2026-12-24", "must be a date"},
		{"0 3 * * * exclude=2026-02-30..2026-03-05", "exclude", "2026-02-30..2026-03-05", "must be a date"},
		{"0 3 * * * exclude=1969-12-31", "exclude", "1969-12-31", "must be a date"},
		{"0 3 * * * exclude=2199-12-31..2200-01-01", "exclude", "2199-12-31..2200-01-01", "must be a date"},
		{"0 3 * * * exclude=SAT..SUN", "exclude", "SAT..SUN", "must be a date"},
		{"0 3 * * * exclude=SAT exclude=SUN", "exclude", "SUN", "twice"},
		{"0 3 * * * at=2026-12-07", "limit", "at=2026-12-07", "not_before="},
		{"0 3 * * * count=2", "limit", "count=2", "not_before="},
		{"0 3 * * * not_before=2026-12-07 until", "limit", "until", "until="},
		{"0 3 * * every=2 *", "every", "2", ""},
		{"0 3 * * * not_before=2026-12-07 until=2026-12-07T03:00", "until", "2026-12-07T03:00", "never fires"},
		{"0 3 * * SAT exclude=SAT", "exclude", "SAT", "never fires"},
		{"* * * * * exclude=MON,TUE,WED,THU,FRI,SAT,SUN", "exclude", "MON,TUE,WED,THU,FRI,SAT,SUN", "never fires"},
		{"0 0 0 1 1 ? 2027 not_before=2028-01-01", "not_before", "2028-01-01", "never fires"},
		{"@at", "at", "", "must be an instant"},
		{"@at tomorrow", "at", "tomorrow", "must be an instant"},
		{"@at 2027-03-28T02:30 until=2027-03-29", "at", "2027-03-28T02:30", "takes no limits"},
		{"@every 1h until=2027-03-29 " + strings.Repeat("x", 2048), "", "", "at most 2048"},
	} {
		s, err := spec.Parse(test.text, nil)
		fault, ok := errors.AsType[*spec.Error](err)
		if test.reason == "" {
			if !ok {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		if !ok || s != nil || fault.Field != test.field || fault.Value != test.value || !strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%q: %v, want field %q, value %q, reason %q", test.text, err, test.field, test.value, test.reason)
		}
	}
	for _, over := range []string{"@at 1999-12-31T23:59:59Z", "0 3 * * * until=2000-01-01", "0 0 3 * * ? 1999 exclude=SAT",
		"0 0 3 1 1 ? 1999 not_before=1999-01-01T03:00", "0 0 3 * * ? 1999 until=2199-12-31T23:59:59Z exclude=1970-01-01,2199-12-31",
		"0 3 * * * not_before=1970-01-01T00:00:00Z until=2000-01-01 every=1000"} {
		if s, err := spec.Parse(over, nil); err != nil || !s.Next(instant(t, "2026-01-01 00:00", time.UTC)).IsZero() {
			t.Errorf("%q: %v", over, err)
		}
	}
}

// An instant is in place of a spec, but its zone may be given. Without limits a spec is unchanged.
func TestAppend(t *testing.T) {
	t.Parallel()
	once := spec.Limits{At: "2027-03-28 02:30"}
	for _, test := range []struct {
		text   string
		limits spec.Limits
		want   string
	}{
		{"CRON_TZ=Europe/Berlin", once, "CRON_TZ=Europe/Berlin @at 2027-03-28T02:30"},
		{" 0  9 * * THU ", spec.Limits{}, " 0  9 * * THU "},
		{"0 3 * * *", once, `spec "0 3 * * *": at "2027-03-28 02:30": is in place of a spec; give one of them`},
		{" @daily", once, `spec "@daily": at "2027-03-28 02:30": is in place of a spec; give one of them`},
	} {
		got, err := test.limits.Append(test.text)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// Exclusions of many dates, or of very long ranges, are searched to their end.
func TestManyDaysExcluded(t *testing.T) {
	t.Parallel()
	var firsts []string
	for month := range 12 * 12 {
		firsts = append(firsts, time.Date(2027, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	for _, test := range []struct{ text, before, after string }{
		{"0 3 1 * * exclude=" + strings.Join(firsts, ","), "2026-12-01 03:00", "2039-01-01 03:00"},
		{"0 3 * * * exclude=2027-01-01..2189-12-31", "2026-12-31 03:00", "2190-01-01 03:00"},
	} {
		s := parse(t, test.text, zone(t, "Europe/Berlin"))
		before, after := instant(t, test.before, s.Zone()), instant(t, test.after, s.Zone())
		if next, prev := s.Next(before), s.Prev(after.Add(-1)); !next.Equal(after) || !prev.Equal(before) {
			t.Errorf("%.40q: %v follows %v, want %v and %v", test.text, next, prev, after, before)
		}
	}
}

// Limits with the same meaning have one revision, however they are written, and others have
// another.
func TestRevisionOfLimits(t *testing.T) {
	t.Parallel()
	at := instant(t, "2026-11-26 00:00", time.UTC)
	berlin := zone(t, "Europe/Berlin")
	revision := func(text string) string { return parse(t, text, berlin).Revision(at) }
	same := [][2]string{
		{"0 3 * * * exclude=2026-12-25,SAT,2026-12-24", "0 3 * * * exclude=sat,2026-12-24..2026-12-25"},
		{"0 3 * * * until=2027-01-01 not_before=2026-12-01", "0 3 * * * not_before=2026-11-30T23:00:00Z until=2026-12-31T23:00:00Z"},
		{"@at 2027-01-01", "@at 2026-12-31T23:00:00Z"},
		{"@every 1h until=2027-01-01T00:00:00Z", "CRON_TZ=UTC @every 1h until=2027-01-01T00:00:00Z"},
	}
	for _, pair := range same {
		if revision(pair[0]) != revision(pair[1]) {
			t.Errorf("%q and %q have different revisions", pair[0], pair[1])
		}
	}
	seen := map[string]string{}
	for _, text := range []string{"0 3 * * *", "0 3 * * * exclude=SAT", "0 3 * * * exclude=SUN", "0 3 * * * exclude=2026-12-25", "0 3 * * * until=2027-01-01",
		"0 3 * * * not_before=2027-01-01", "0 3 * * * not_before=2027-01-01 every=2", "0 3 * * * not_before=2027-01-01 every=3", "@every 1s", "@at 2027-01-01", "@at 2027-01-02",
		"@every 1h exclude=SAT", "CRON_TZ=UTC @every 1h exclude=SAT",
		"@every 1h exclude=2026-12-25", "CRON_TZ=UTC @every 1h exclude=2026-12-25"} {
		if other, ok := seen[revision(text)]; ok {
			t.Errorf("%q has the revision of %q", text, other)
		}
		seen[revision(text)] = text
	}
}

// The text of limits that Append writes is parsed with the same meaning, and no text makes Parse or
// a search panic or run for long.
func FuzzLimits(f *testing.F) {
	for _, test := range limitedTests {
		l := test.limits
		f.Add(test.spec, l.At, l.NotBefore, l.Until, l.Every, strings.Join(l.Exclude, " "), int64(1_790_000_000_000))
	}
	f.Add("* * * * *", "", "2026-12-07", "2026-12-06", 1000, "SAT SUN MON TUE WED THU FRI", int64(0))
	f.Add("H H * * *", "", "", "", 0, "1970-01-01..2199-12-31", int64(-1))
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, base, at, notBefore, until string, every int, exclude string, ms int64) {
		text, err := spec.Limits{At: at, NotBefore: notBefore, Until: until, Every: every, Exclude: strings.Fields(exclude)}.Append(base)
		if err != nil {
			return
		}
		s, err := spec.Parse(text, berlin)
		if err != nil {
			if fault, ok := errors.AsType[*spec.Error](err); !ok || fault.Reason == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		again, err := spec.Parse(s.Text(), berlin)
		if err != nil || again.Revision(time.Unix(0, 0)) != s.Revision(time.Unix(0, 0)) {
			t.Fatalf("%q does not parse again: %v", s.Text(), err)
		}
		ms %= 200 * 366 * 86_400_000
		next := s.NextMilli(ms)
		if next != 0 && (next <= ms || s.PrevMilli(next) != next || s.PrevMilli(next-1) > ms || s.Count(ms, next, 5) != 1 || s.LeftOut(time.UnixMilli(next)) != "") {
			t.Fatalf("%q: NextMilli(%d) = %d, before it %d, counted %d", text, ms, next, s.PrevMilli(next-1), s.Count(ms, next, 5))
		}
	})
}
