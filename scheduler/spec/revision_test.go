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
