package spec

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"
)

// Periods follow one another without gap or overlap, and have one offset.
func TestPeriodsAreContiguous(t *testing.T) {
	t.Parallel()
	names, err := os.ReadFile("testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for name := range strings.FieldsSeq(string(names)) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		p := lookup(zone, at)
		for p.end < end {
			next := lookup(zone, p.end)
			if next.start != p.end && next.offset != p.offset || next.end <= p.end {
				t.Fatalf("%s: period of %v ends at %v, the next is of %v to %v", name, time.Unix(at, 0).UTC(),
					time.Unix(p.end, 0).UTC(), time.Unix(next.start, 0).UTC(), time.Unix(next.end, 0).UTC())
			}
			if middle := p.start + (p.end-p.start)/2; middle > at && offsetOf(time.Unix(middle, 0).In(zone)) != p.offset {
				t.Fatalf("%s: two offsets from %v to %v", name, time.Unix(p.start, 0).UTC(), time.Unix(p.end, 0).UTC())
			}
			at, p = p.end, next
		}
	}
}

// A zone database may have a rule in place of the changes that it causes. Package time then dates
// the rule too early.
func TestPeriodStartsWhereItsRuleDoes(t *testing.T) {
	t.Parallel()
	moved := time.Date(2022, 11, 30, 6, 0, 0, 0, time.UTC).Unix()
	zone, err := time.LoadLocationFromTZData("Moved", database(moved, -6*3600, -7*3600, "MST7MDT,M3.2.0,M11.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 1, 3600, 86400} {
		p := periodAt(zone, moved+after)
		if p.start != moved || p.offset != -7*3600 || p.reached != moved-6*3600 {
			t.Errorf("%d s after the move: %+v, want it to start at %d", after, p, moved)
		}
	}
	s, err := Parse("45 23 * * *", zone)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2022, 11, 30, 5, 45, 0, 0, time.UTC)
	if got := s.Prev(first.Add(2 * time.Hour)); !got.Equal(first) {
		t.Errorf("23:45 on the day of the move: %v, want only %v", got, first)
	}
}

// The bounds that package time returns for the last day of a leap year end before that day.
func TestPeriodOfTheLastDayOfALeapYear(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocationFromTZData("Ruled", database(0, -6*3600, -7*3600, "MST7MDT,M3.2.0,M11.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2028, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	for _, at := range []int64{day, day + 43200, day + 86399} {
		if p := lookup(zone, at); p.start > at || p.end != day+86400 {
			t.Errorf("%d: %+v, want it to end at %d", at, p, day+86400)
		}
	}
}

// A repeated hour may continue in a later period: periods of a rule end with the year, here in the
// middle of the repeat.
func TestRepeatOverTheEndOfTheYear(t *testing.T) {
	t.Parallel()
	// 00:30 on 1 January becomes 23:30, at 23:30 UTC.
	zone, err := time.LoadLocationFromTZData("Ruled", database(0, -3600, 0, "AAA0BBB-1,M6.1.0,J365/24:30"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("15 0 * * *", zone)
	if err != nil {
		t.Fatal(err)
	}
	for _, year := range []int{2027, 2028} {
		first := time.Date(year, 12, 31, 23, 15, 0, 0, time.UTC)
		second := time.Date(year+1, 1, 2, 0, 15, 0, 0, time.UTC)
		if got := s.Next(first.Add(-time.Hour)); !got.Equal(first) {
			t.Errorf("first pass: %v, want %v", got.UTC(), first)
		}
		if got := s.Next(first); !got.Equal(second) {
			t.Errorf("after the first pass: %v, want %v", got.UTC(), second)
		}
		if got := s.Prev(second.Add(-1)); !got.Equal(first) {
			t.Errorf("before the day after: %v, want %v", got.UTC(), first)
		}
	}
}

// Databases with a table of changes and with the rule that they follow give one revision.
func TestRevisionWithARuleInPlaceOfATable(t *testing.T) {
	t.Parallel()
	table, err := time.LoadLocation("America/Denver")
	if err != nil {
		t.Fatal(err)
	}
	rule, err := time.LoadLocationFromTZData("America/Denver", database(0, -7*3600, -7*3600, "MST7MDT,M3.2.0,M11.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	var revisions []string
	for _, zone := range []*time.Location{table, rule} {
		s, err := Parse("0 9 * * *", zone)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, s.Revision(time.Date(2027, 7, 9, 0, 0, 0, 0, time.UTC)))
	}
	if revisions[0] != revisions[1] {
		t.Errorf("revisions %s and %s", revisions[0], revisions[1])
	}
}

// database writes a zone with one change of offset and a rule, in the format
// TZif of RFC 8536.
func database(change int64, before, after int32, rule string) []byte {
	block := func(wide bool) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, count := range []uint32{0, 0, 0, 1, 2, 4} { // changes 1, offsets 2, letters 4
			b = binary.BigEndian.AppendUint32(b, count)
		}
		if wide {
			b = binary.BigEndian.AppendUint64(b, uint64(change))
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(change))
		}
		b = append(b, 1)
		for _, offset := range []int32{before, after} {
			b = binary.BigEndian.AppendUint32(b, uint32(offset))
			b = append(b, 0, 0)
		}
		return append(b, "LMT\x00"...)
	}
	return append(append(block(false), block(true)...), "\n"+rule+"\n"...)
}

func TestCivil(t *testing.T) {
	t.Parallel()
	for day := dayNumber(-1, 1, 1); day <= dayNumber(2405, 1, 1); day++ {
		want := time.Unix(day*daySeconds, 0).UTC()
		year, month, dom := civil(day)
		if int(year) != want.Year() || month != int(want.Month()) || dom != want.Day() || weekday(day) != int(want.Weekday()) {
			t.Fatalf("day %d: %d-%d-%d weekday %d, want %v", day, year, month, dom, weekday(day), want)
		}
		if back := dayNumber(year, month, dom); back != day {
			t.Fatalf("day %d comes back as %d", day, back)
		}
		if length := want.AddDate(0, 1, -dom).Day(); dom == 1 && monthLength(year, month) != length {
			t.Fatalf("%d-%d has %d days, want %d", year, month, monthLength(year, month), length)
		}
	}
}
