package spec_test

import (
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/cronce/cronce/scheduler/spec"
)

var nextTests = []struct{ spec, from, want string }{
	// Five fields: seconds are 0.
	{"* * * * *", "2026-07-09 14:45", "2026-07-09 14:46"},
	{"* * * * *", "2026-07-09 14:59:59", "2026-07-09 15:00"},
	{"5 4 * * *", "2026-07-09 04:05", "2026-07-10 04:05"},
	{"5 4 * * *", "2026-07-09 04:04:59.999", "2026-07-09 04:05"},

	// Six fields.
	{"* * * * * *", "2026-12-31 23:59:59", "2027-01-01"},
	{"* * * * * *", "2026-12-31 23:59:58.5", "2026-12-31 23:59:59"},
	{"15 30 8 * * *", "2026-07-09 08:30:15", "2026-07-10 08:30:15"},
	{"0/5 * * * * ?", "2026-07-09 08:30:56", "2026-07-09 08:31:00"},
	{"0/5 * * * * ?", "2026-07-09 08:30:54", "2026-07-09 08:30:55"},
	{"5/25 * * * * *", "2026-07-09 08:30:05", "2026-07-09 08:30:30"},
	{"5/25 * * * * *", "2026-07-09 08:30:55", "2026-07-09 08:31:05"},
	{"10-20/5,50 * * * * *", "2026-07-09 08:30:15", "2026-07-09 08:30:20"},
	{"10-20/5,50 * * * * *", "2026-07-09 08:30:20", "2026-07-09 08:30:50"},

	// Each field carries into the next.
	{"59 59 23 * * *", "2026-12-31 23:59:59", "2027-01-01 23:59:59"},
	{"0 0 12 15 * *", "2026-01-15 12:00", "2026-02-15 12:00"},
	{"0 0 12 15 1,7 *", "2026-01-15 12:00", "2026-07-15 12:00"},
	{"0 0 12 15 1,7 *", "2026-07-15 12:00", "2027-01-15 12:00"},
	{"0 0 0 31 * *", "2026-01-31", "2026-03-31"},

	// Names, in any case.
	{"0 9 * JAN,jul Mon-fri", "2026-07-31 09:00", "2027-01-01 09:00"},
	{"0 9 * * SAT-SUN", "2026-11-21 09:00", "2026-11-22 09:00"},
	{"0 9 * * SUN-SUN", "2026-11-16", "2026-11-22 09:00"},
	{"0 9 * * mon-sun", "2026-11-21 09:00", "2026-11-22 09:00"},

	// Sunday is 0 and 7.
	{"0 9 * * 7", "2026-11-16", "2026-11-22 09:00"},
	{"0 9 * * 0", "2026-11-16", "2026-11-22 09:00"},
	{"0 9 * * 5-7", "2026-11-20 09:00", "2026-11-21 09:00"},
	{"0 9 * * 5-7", "2026-11-22 09:00", "2026-11-27 09:00"},
	{"0 9 * * 1-7/3", "2026-11-16 09:00", "2026-11-19 09:00"},
	{"0 9 * * 1-7/3", "2026-11-19 09:00", "2026-11-22 09:00"},
	{"0 9 * * 3,7", "2026-11-18 09:00", "2026-11-22 09:00"},

	// Both days restricted: either is enough. A star on one side: both.
	{"0 0 13 * 5", "2026-11-12", "2026-11-13"},
	{"0 0 13 * 5", "2026-11-13", "2026-11-20"},
	{"0 0 13 * 5", "2026-12-11", "2026-12-13"},
	{"0 0 13 * ?", "2026-11-13", "2026-12-13"},
	{"0 0 ? * 5", "2026-11-13", "2026-11-20"},
	{"0 0 31 2 1", "2026-01-31", "2026-02-02"},

	// Descriptors.
	{"@hourly", "2026-07-09 14:45", "2026-07-09 15:00"},
	{"@daily", "2026-07-09 14:45", "2026-07-10"},
	{"@midnight", "2026-07-09 14:45", "2026-07-10"},
	{"@weekly", "2026-07-09 14:45", "2026-07-12"},
	{"@monthly", "2026-07-09 14:45", "2026-08-01"},
	{"@yearly", "2026-07-09 14:45", "2027-01-01"},
	{"@annually", "2026-07-09 14:45", "2027-01-01"},

	// Every: multiples since the epoch, whenever asked.
	{"@every 1s", "2026-07-09 14:45:00.001", "2026-07-09 14:45:01"},
	{"@every 90s", "1970-01-01 00:00:01", "1970-01-01 00:01:30"},
	{"@every 90s", "1970-01-01 00:01:30", "1970-01-01 00:03"},
	{"@every 90s", "1969-12-31 23:59:59", "1970-01-01"},
	{"@every 90s", "1969-12-31 23:58", "1969-12-31 23:58:30"},
	{"@every 1h30m", "2026-07-09 00:00", "2026-07-09 01:30"},
	{"@every 24h", "2026-07-09 14:45", "2026-07-10"},
	{"@every 1.5m", "1970-01-01", "1970-01-01 00:01:30"},
	{"@every   2m", "1970-01-01", "1970-01-01 00:02"},
	{"TZ=UTC @every 2m", "1970-01-01", "1970-01-01 00:02"},

	// The last day of the month, and days before it.
	{"0 9 L * *", "2026-01-31 09:00", "2026-02-28 09:00"},
	{"0 9 l * ?", "2028-01-31 09:00", "2028-02-29 09:00"},
	{"0 9 L-3 * *", "2026-11-01", "2026-11-27 09:00"},
	{"0 9 L-30 * *", "2026-01-01 09:00", "2026-03-01 09:00"},
	{"0 9 L-28 2 *", "2026-01-01", "2028-02-01 09:00"},
	{"0 9 1,15,L * *", "2026-11-15 09:00", "2026-11-30 09:00"},
	{"0 9 L,L-1 * *", "2026-11-29 09:00", "2026-11-30 09:00"},

	// The weekday nearest to a day, in the same month.
	{"0 9 15W * *", "2026-11-01", "2026-11-16 09:00"},       // the 15th is a Sunday
	{"0 9 15W * *", "2026-08-01", "2026-08-14 09:00"},       // a Saturday
	{"0 9 15W * *", "2026-10-01", "2026-10-15 09:00"},       // a Thursday
	{"0 9 1W * *", "2026-07-31", "2026-08-03 09:00"},        // the 1st is a Saturday
	{"0 9 1W * *", "2026-10-31", "2026-11-02 09:00"},        // a Sunday
	{"0 9 30W * *", "2026-08-01", "2026-08-31 09:00"},       // the 30th is a Sunday
	{"0 9 31W * *", "2026-05-01", "2026-05-29 09:00"},       // the 31st is a Sunday
	{"0 9 31W * *", "2026-08-31 09:00", "2026-10-30 09:00"}, // September has none, in October it is a Saturday
	{"0 9 LW * *", "2026-02-01", "2026-02-27 09:00"},
	{"0 9 LW * *", "2026-05-01", "2026-05-29 09:00"},
	{"0 9 L-2W * *", "2026-08-01", "2026-08-28 09:00"},  // the 29th is a Saturday
	{"0 9 L-30W * *", "2026-01-31", "2026-03-02 09:00"}, // February has none, 1 March is a Sunday
	{"0 9 29W 2 *", "2026-01-01", "2028-02-29 09:00"},

	// Weekdays of the month.
	{"0 9 * * 5L", "2026-11-01", "2026-11-27 09:00"},
	{"0 9 * * FRIL", "2026-11-27 09:00", "2026-12-25 09:00"},
	{"0 9 * * 0L", "2026-11-01", "2026-11-29 09:00"},
	{"0 9 * * 7L", "2026-11-01", "2026-11-29 09:00"},
	{"0 9 * * 5#3", "2026-11-01", "2026-11-20 09:00"},
	{"0 9 * * fri#2", "2026-11-01", "2026-11-13 09:00"},
	{"0 9 * * 7#1", "2026-11-01", "2026-11-01 09:00"},
	{"0 9 * * SUN#5", "2026-11-01", "2026-11-29 09:00"},
	{"0 9 * * MON#1,FRI#3", "2026-11-02 09:00", "2026-11-20 09:00"},
	{"0 9 * * 1,5L", "2026-11-23 09:00", "2026-11-27 09:00"},
	{"0 9 ? 2 MON#5", "2072-02-29 09:00", "2112-02-29 09:00"}, // 40 years

	// With the other day too: either is enough.
	{"0 9 13 * FRI#1", "2026-11-01", "2026-11-06 09:00"},
	{"0 9 L * FRI#1", "2026-11-06 09:00", "2026-11-30 09:00"},
	{"0 9 L * MON", "2026-11-23 09:00", "2026-11-30 09:00"},

	// Years.
	{"0 0 9 1 1 ? 2030", "2026-11-01", "2030-01-01 09:00"},
	{"0 0 9 1 1 ? 2030", "2030-01-01 09:00", ""},
	{"0 0 9 1 1 ? 2027,2030-2032", "2027-01-01 09:00", "2030-01-01 09:00"},
	{"0 0 9 1 1 ? 2026-2036/5", "2026-01-01 09:00", "2031-01-01 09:00"},
	{"0 0 9 1 1 ? 2031/30", "2031-01-01 09:00", "2061-01-01 09:00"},
	{"0 0 9 1 1 ? */10", "2026-01-01 09:00", "2030-01-01 09:00"},
	{"0 0 9 1 1 ? 2199", "1971-01-01", "2199-01-01 09:00"},
	{"0 0 9 1 * ? 2199", "2199-01-01 09:00", "2199-02-01 09:00"},
	{"0 0 9 1 1 ? 1970-2199", "2199-01-01 09:00", ""},
	{"0 0 9 1 1 ? *", "2199-01-01 09:00", "2200-01-01 09:00"},
	{"0 0 0 29 2 ? 2027-2040", "2026-01-01", "2028-02-29"},
	{"* * * * * * 1970", "1960-01-01", "1970-01-01"},

	// Leap days, over centuries with and without one.
	{"0 0 29 2 *", "2026-01-01", "2028-02-29"},
	{"0 0 29 2 *", "2096-02-29", "2104-02-29"},
	{"0 0 29 2 *", "1896-02-29", "1904-02-29"},
	{"0 0 29 2 *", "1996-02-29", "2000-02-29"},

	// Before 1970 and at the ends of what is computed.
	{"0 0 * * *", "1969-12-31 12:00", "1970-01-01"},
	{"0 30 8 1 1 *", "1583-06-01", "1584-01-01 08:30"},
	{"0 0 0 1 1 *", "9998-06-01", "9999-01-01"},
	{"0 0 0 1 1 *", "9999-06-01", ""},
	{"@every 1s", "9999-12-31 23:59:59", ""},
	{"* * * * * *", "9999-12-31 23:59:58", "9999-12-31 23:59:59"},
	{"* * * * * *", "9999-12-31 23:59:59", ""},
}

func TestNext(t *testing.T) {
	for _, tt := range nextTests {
		s := parse(t, tt.spec, nil)
		var want time.Time
		if tt.want != "" {
			want = instant(t, tt.want, time.UTC)
		}
		if got := s.Next(instant(t, tt.from, time.UTC)); !got.Equal(want) {
			t.Errorf("%q: Next(%s) = %s, want %s", tt.spec, tt.from, got, want)
		}
		// Whatever comes next is also what Prev finds there.
		if !want.IsZero() && !s.Prev(want.Add(time.Second/2)).Equal(want) {
			t.Errorf("%q: Prev(%s + 0.5s) = %s", tt.spec, tt.want, s.Prev(want.Add(time.Second/2)))
		}
	}
}

func TestPrev(t *testing.T) {
	tests := []struct{ spec, from, want string }{
		{"* * * * * *", "2026-07-09 14:45:10", "2026-07-09 14:45:10"},
		{"* * * * *", "2026-07-09 14:45:10", "2026-07-09 14:45"},
		{"30 * * * *", "2026-07-09 14:29:59.999", "2026-07-09 13:30"},
		{"0 0 31 * *", "2026-07-30 23:59", "2026-05-31"},
		{"0 0 1 3 *", "2026-02-28", "2025-03-01"},
		{"0 0 29 2 *", "2104-02-28", "2096-02-29"},
		{"0 0 13 * 5", "2026-11-19", "2026-11-13"},
		{"@every 90s", "1970-01-01 00:01:29", "1970-01-01"},
		{"@every 90s", "1969-12-31 23:59:59", "1969-12-31 23:58:30"},
		{"@yearly", "0001-06-01", "0001-01-01"},
		{"0 0 29 2 *", "0001-06-01", ""},
		{"0 9 L * *", "2026-11-30 08:59", "2026-10-31 09:00"},
		{"0 9 LW * *", "2026-11-30 08:59", "2026-10-30 09:00"},
		{"0 9 * * FRI#2", "2026-11-13 08:59", "2026-10-09 09:00"},
		{"0 9 ? 2 MON#5", "2112-02-28", "2072-02-29 09:00"},
		{"0 0 9 1 1 ? 2030,2027", "2199-01-01", "2030-01-01 09:00"},
		{"0 0 9 1 1 ? 2030,2027", "2030-01-01", "2027-01-01 09:00"},
		{"0 0 9 1 1 ? 2030,2027", "2027-01-01", ""},
		{"0 0 9 1 1 ? 2030 exclude=SAT", "2029-01-01", ""},
		{"0 0 9 1 1 ? 2199", "9999-01-01", "2199-01-01 09:00"},
		{"0 0 9 31 12 ? 1970", "2100-01-01", "1970-12-31 09:00"},
	}
	for _, tt := range tests {
		var want time.Time
		if tt.want != "" {
			want = instant(t, tt.want, time.UTC)
		}
		if got := parse(t, tt.spec, nil).Prev(instant(t, tt.from, time.UTC)); !got.Equal(want) {
			t.Errorf("%q: Prev(%s) = %s, want %s", tt.spec, tt.from, got, want)
		}
	}
}

func TestZoneOfFields(t *testing.T) {
	newYork := zone(t, "America/New_York")
	tests := []struct {
		spec string
		zone *time.Location
		want string
	}{
		{"CRON_TZ=Asia/Shanghai 0 9 * * 1-5", nil, "2026-07-10 09:00:00 +08:00"},
		{"TZ=Asia/Kolkata 0 9 * * *", nil, "2026-07-10 09:00:00 +05:30"},
		{"TZ=Asia/Shanghai\t 0 9 * * *", newYork, "2026-07-10 09:00:00 +08:00"},
		{"0 9 * * *", newYork, "2026-07-10 09:00:00 -04:00"},
		{"0 9 * * *", nil, "2026-07-10 09:00:00 +00:00"},
		{"  0 9 * * * \n", nil, "2026-07-10 09:00:00 +00:00"},
		{"0 9 * * *", time.FixedZone("X", -3600), "2026-07-10 09:00:00 -01:00"},
	}
	for _, tt := range tests {
		s := parse(t, tt.spec, tt.zone)
		got := s.Next(instant(t, "2026-07-09 23:00", time.UTC)).Format(layout)
		if got != tt.want {
			t.Errorf("%q in %v: %s, want %s", tt.spec, tt.zone, got, tt.want)
		}
	}
}

func TestMilli(t *testing.T) {
	s := parse(t, "*/10 * * * * *", nil)
	tests := []struct{ ms, next, prev int64 }{
		{0, 10_000, 0},
		{1, 10_000, 0},
		{9_999, 10_000, 0},
		{10_000, 20_000, 10_000},
		{-1, 0, -10_000},
		{-10_000, 0, -10_000},
		{-10_001, -10_000, -20_000},
		{math.MaxInt64, 0, 253402300790_000},
		{math.MinInt64, -62135596800_000, 0},
	}
	for range 2 { // the second time over what the first remembered
		for _, tt := range tests {
			if got := s.NextMilli(tt.ms); got != tt.next {
				t.Errorf("NextMilli(%d) = %d, want %d", tt.ms, got, tt.next)
			}
			if got := s.PrevMilli(tt.ms); got != tt.prev {
				t.Errorf("PrevMilli(%d) = %d, want %d", tt.ms, got, tt.prev)
			}
		}
	}
}

func TestExtremeTimes(t *testing.T) {
	for _, text := range []string{"* * * * * *", "@every 7s", "CRON_TZ=America/New_York 30 2 * * *"} {
		s := parse(t, text, nil)
		for _, unix := range []int64{math.MinInt64 / 2, math.MinInt64, math.MaxInt64, math.MaxInt64 / 2} {
			at := time.Unix(unix, 0)
			if next := s.Next(at); !next.IsZero() && next.Unix() <= at.Unix() {
				t.Errorf("%q: Next(%d) = %d", text, at.Unix(), next.Unix())
			}
			if prev := s.Prev(at); !prev.IsZero() && prev.Unix() > at.Unix() {
				t.Errorf("%q: Prev(%d) = %d", text, at.Unix(), prev.Unix())
			}
		}
	}
}

func TestCountAndInterval(t *testing.T) {
	const hour = 3_600_000
	tests := []struct {
		spec           string
		after, through int64
		limit, want    int
	}{
		{"0 * * * *", 0, 3 * hour, 10, 3},
		{"0 * * * *", -1, 3 * hour, 10, 4},
		{"0 * * * *", 0, 3*hour - 1, 10, 2},
		{"0 * * * *", 0, 30 * hour, 10, 10},
		{"0 * * * *", 3 * hour, 0, 10, 0},
		{"0 * * * *", 0, 3 * hour, 0, 0},
		{"0 * * * *", 0, 3 * hour, -1, 0},
		{"@every 1h", 0, 3 * hour, 10, 3},
		{"@every 1h", -1, 3 * hour, 10, 4},
		{"@every 1h", 0, math.MaxInt64, 10, 10},
		{"@every 1h", math.MinInt64, math.MaxInt64, 10, 10},
		{"@every 1h", 3 * hour, 0, 10, 0},
		{"@every 1h", 0, 3 * hour, -1, 0},

		// To the end of the years.
		{"0 0 0 1 1 ? 1970-1972", -1, math.MaxInt64, 10, 3},
		{"0 0 0 1 1 ? 1970-1972 exclude=SAT", -1, math.MaxInt64, 10, 2},

		// Into the second pass of a repeated hour, of which a fixed spec has no tick.
		{"CRON_TZ=America/New_York 30 1 * * *", instant(t, "2026-11-01 00:00:00 -04:00", nil).UnixMilli(), instant(t, "2026-11-01 01:15:00 -05:00", nil).UnixMilli(), 10, 1},
	}
	for _, tt := range tests {
		if got := parse(t, tt.spec, nil).Count(tt.after, tt.through, tt.limit); got != tt.want {
			t.Errorf("%q: Count(%d, %d, %d) = %d, want %d", tt.spec, tt.after, tt.through, tt.limit, got, tt.want)
		}
	}
	workdays := parse(t, "0 9 * * 1-5", nil)
	friday := instant(t, "2026-11-20 09:00", time.UTC).UnixMilli()
	if got := workdays.Interval(friday); got != 72*time.Hour {
		t.Errorf("Friday to Monday: %v", got)
	}
	if got := workdays.Interval(instant(t, "9999-12-31 09:00", time.UTC).UnixMilli()); got != 0 {
		t.Errorf("after the last tick: %v", got)
	}
}

// Goroutines that share a schedule and use different instants never get each other's results.
func TestSharedByGoroutines(t *testing.T) {
	s := parse(t, "CRON_TZ=America/New_York */7 * * * * *", nil)
	alone := parse(t, "CRON_TZ=America/New_York */7 * * * * *", nil)
	start := instant(t, "2026-03-07", time.UTC).UnixMilli()
	want := make([]int64, 500)
	for i := range want {
		want[i] = alone.NextMilli(start + int64(i)*311_000)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range want {
				i = (i*7 + g*61) % len(want)
				if got := s.NextMilli(start + int64(i)*311_000); got != want[i] {
					t.Errorf("NextMilli at step %d: %d, want %d", i, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// There may be a schedule for each of 100,000 jobs: the fields of rare specs take no memory in
// other schedules.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(spec.Schedule{}); size > 144 {
		t.Errorf("a schedule takes %d bytes, 144 are allowed, which is a size of the allocator", size)
	}
}

func TestNoAllocation(t *testing.T) {
	at := instant(t, "2026-07-09", time.UTC)
	for _, text := range []string{"TZ=America/New_York 30 2 * * 1-5", "TZ=America/New_York 0 0 29 2 *", "@every 90s",
		"TZ=America/New_York 0 30 2 LW * FRI#3 2027-2040"} {
		noAllocation(t, parse(t, text, nil), at)
	}
}

func noAllocation(t *testing.T, s *spec.Schedule, at time.Time) {
	t.Helper()
	ms := at.UnixMilli()
	for name, f := range map[string]func(){
		"Next":      func() { s.Next(at) },
		"Prev":      func() { s.Prev(at) },
		"NextMilli": func() { s.NextMilli(ms) },
		"Interval":  func() { s.Interval(ms) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%q: %s allocates %v times", s.Text(), name, n)
		}
	}
}

func TestFixed(t *testing.T) {
	tests := map[string]bool{
		"30 2 * * *":            true,
		"0,30 2,14 * * *":       true,
		"15 30 2 */2 1-6 1":     true,
		"@daily":                true,
		"@yearly":               true,
		"@hourly":               false,
		"* 2 * * *":             false,
		"30 1-2 * * *":          false,
		"30 2,4-5 * * *":        false,
		"30 */12 * * *":         false,
		"0/30 30 2 * * *":       false,
		"? 30 2 * * *":          false,
		"5-5 30 2 * * *":        false,
		"CRON_TZ=UTC 0 2 * * *": true,
	}
	for text, want := range tests {
		if got := parse(t, text, nil).Fixed(); got != want {
			t.Errorf("%q: Fixed() = %v", text, got)
		}
	}
}

var _ error = (*spec.Error)(nil)
