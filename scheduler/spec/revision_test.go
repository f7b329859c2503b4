package spec_test

import (
	"testing"
	"time"
)

func TestRevision(t *testing.T) {
	newYork := zone(t, "America/New_York")
	from := instant(t, "2026-07-09", time.UTC)
	base := parse(t, "0 0 * * *", newYork).Revision(from)
	if len(base) != 16 {
		t.Errorf("revision %q, want 16 hex digits", base)
	}
	tests := []struct {
		text string
		zone *time.Location
		same bool
	}{
		{"@daily", newYork, true},
		{"0 0 0 * * ?", newYork, true},
		{"0 0 0 * * ? *", newYork, true},
		{"0 0 0 * * ? */1", newYork, true},
		{"  00 0 * JAN-DEC *", newYork, true},
		{"TZ=America/New_York 0 0 * * *", nil, true},

		{"1 0 * * *", newYork, false},
		{"0 0-0 * * *", newYork, false}, // the same sets, but not fixed
		{"0 0 1-31 * 0-6", newYork, false},
		{"0 0 * * *", nil, false},
		{"0 0 * * *", zone(t, "America/Toronto"), false}, // the same clock under another name
		{"@every 24h", newYork, false},

		// The same name, other transitions.
		{"0 0 * * *", time.FixedZone("America/New_York", -5*3600), false},
		{"0 0 * * *", time.FixedZone("America/New_York", -4*3600), false},
	}
	for _, tt := range tests {
		if got := parse(t, tt.text, tt.zone).Revision(from); (got == base) != tt.same {
			t.Errorf("%q in %v: revision %s, base %s", tt.text, tt.zone, got, base)
		}
	}
}

// Specs that differ only in L, W, # or the year differ in their revision, and the
// order of a list does not matter.
func TestRevisionOfRare(t *testing.T) {
	from := instant(t, "2026-07-09", time.UTC)
	of := map[string]string{}
	for _, text := range []string{"0 9 1 * *", "0 9 L * *", "0 9 L-1 * *", "0 9 LW * *", "0 9 L-1W * *", "0 9 1W * *", "0 9 2W * *",
		"0 9 1,L * *", "0 9 * * 5", "0 9 * * 5L", "0 9 * * 4L", "0 9 * * 5#1", "0 9 * * 5#2", "0 9 * * 4#2", "0 9 L * 5L",
		"0 0 9 L * * 2027", "0 0 9 L * * 2028", "0 0 9 L * * 2027-2028", "0 0 9 L * * 1970-2199", "0 0 9 1 * * 2027"} {
		revision := parse(t, text, nil).Revision(from)
		if other := of[revision]; other != "" {
			t.Errorf("%q and %q have one revision", text, other)
		}
		of[revision] = text
	}
	for a, b := range map[string]string{"0 9 15,L * *": "0 9 L,15 * *", "0 9 * * FRI#3": "0 0 9 ? * 5#3 *", "0 9 * * 7L": "0 9 * * SUNL", "0 0 9 L * * 2027,2028": "0 0 9 L * * 2027-2028"} {
		if parse(t, a, nil).Revision(from) != parse(t, b, nil).Revision(from) {
			t.Errorf("%q and %q differ", a, b)
		}
	}
}

// Stores keep the revision of a spec over versions of this package, so it must not change between
// them.
func TestRevisionIsStable(t *testing.T) {
	from := instant(t, "2026-07-09", time.UTC)
	for text, want := range map[string]string{"0 9 * * 1-5": "dbc0264b404a6ecc", "0/5 * 1 13 * 5": "bbcf0e8e4b1a3a7f", "@every 90s": "9020bba131a59b8d"} {
		if got := parse(t, text, nil).Revision(from); got != want {
			t.Errorf("%q: revision %s, was %s", text, got, want)
		}
	}
}

func TestRevisionWindow(t *testing.T) {
	at := func(text string) time.Time { return instant(t, text, time.UTC) }
	s := parse(t, "0 0 * * *", zone(t, "America/New_York"))
	first, last := s.Revision(at("2026-01-01")), s.Revision(at("2026-12-31 23:59:59").In(zone(t, "Asia/Tokyo")))
	if first != last {
		t.Errorf("within one UTC year: %s and %s", first, last)
	}
	if next := s.Revision(at("2027-01-01")); next == first {
		t.Errorf("transitions of another year give %s again", next)
	}
	for _, text := range []string{"0 0 * * *", "@every 24h"} {
		utc := parse(t, text, nil)
		if utc.Revision(at("2026-01-01")) != utc.Revision(at("2031-01-01")) {
			t.Errorf("%q in UTC changes with the year", text)
		}
	}
	// What @every means does not depend on a zone.
	if parse(t, "@every 24h", nil).Revision(at("2026-01-01")) != parse(t, "@every 24h", zone(t, "Asia/Tokyo")).Revision(at("2026-01-01")) {
		t.Error("@every changes with the zone")
	}
}
