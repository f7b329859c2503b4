package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

// A time is RFC 3339, local in the zone of the spec, a duration before now, last or next.
func TestParseTick(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("30 2 * * *", berlin)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 3, 28, 10, 0, 0, 0, time.UTC) // at 01:00Z the clock went from 02:00 to 03:00
	for _, c := range []struct{ text, want, note, fault string }{
		{"last", "2027-03-28T01:00:00Z", "", ""},
		{"next", "2027-03-29T00:30:00Z", "", ""},
		{"12h", "2027-03-27T01:30:00Z", "", ""},
		{"-12h", "2027-03-27T01:30:00Z", "", ""},
		{"2027-03-20T01:30:00Z", "2027-03-20T01:30:00Z", "", ""},
		{"2027-03-20 02:30", "2027-03-20T01:30:00Z", "", ""},
		{"11:30", "2027-03-28T09:30:00Z", "", ""},
		{"12:00", "2027-03-28T10:00:00Z", "", ""}, // now
		{"11:30:20", "2027-03-28T09:30:20Z", "", ""},
		{"2027-03-20T01:30:03.417Z", "2027-03-20T01:30:03.417Z", "", ""}, // as the instant of a manual run is printed
		{"2027-03-20 02:30:03.417", "2027-03-20T01:30:03.417Z", "", ""},
		{"11:30:03.417", "2027-03-28T09:30:03.417Z", "", ""},
		{"12:30:01", "2027-03-27T11:30:01Z", "", ""},
		{"12:30", "2027-03-27T11:30:00Z", "", ""}, // today's is in the future
		{"2027-03-28 02:30", "2027-03-28T01:00:00Z", "2027-03-28 02:30 does not exist in Europe/Berlin: the clock went forward at 2027-03-28T01:00:00Z", ""},
		{"2027-03-28 02:03:03", "2027-03-28T01:00:00Z", "2027-03-28 02:03:03 does not exist in Europe/Berlin: the clock went forward at 2027-03-28T01:00:00Z", ""},
		{"2026-10-25 02:30", "2026-10-25T00:30:00Z", "2026-10-25 02:30 exists twice in Europe/Berlin: this is the first, 2026-10-25T01:30:00Z is the second", ""},
		{"2027-03-20", "2027-03-19T23:00:00Z", "", ""},
		{"--2h", "", "", `is "--2h", must be RFC 3339`},
		{"noon", "", "", `is "noon", must be RFC 3339`},
		{"25:00", "", "", `is "25:00", must be RFC 3339`},
	} {
		got, note, err := ParseTick(c.text, s, now)
		switch {
		case c.fault != "":
			if err == nil || !strings.HasPrefix(err.Error(), c.fault) {
				t.Errorf("%s: %v, want %s", c.text, err, c.fault)
			}
		case err != nil || got.UTC().Format(time.RFC3339Nano) != c.want || note != c.note:
			t.Errorf("%s: %v, %q, %v, want %s, %q", c.text, got, note, err, c.want, c.note)
		}
	}
	for _, c := range []struct{ zone, text, want string }{ // west of UTC
		{"America/New_York", "2027-03-14 02:30", "2027-03-14T07:00:00Z"},
		{"America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"}, // whose first hour was left out
	} {
		west, err := spec.Parse("TZ="+c.zone+" 30 2 * * *", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		got, note, err := ParseTick(c.text, west, now)
		if err != nil || got.UTC().Format(time.RFC3339) != c.want || !strings.HasSuffix(note, " in "+c.zone+": the clock went forward at "+c.want) {
			t.Errorf("%s: %v, %q, %v, want %s", c.text, got, note, err, c.want)
		}
	}
	for _, text := range []string{"last", "next", "2h"} { // without a spec it has no ticks
		if got, _, err := ParseTick(text, nil, now); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}
