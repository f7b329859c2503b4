package main

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// instantLayouts are what a person may type, beside RFC 3339; in a zone.
var instantLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// parseInstant reads RFC 3339, or a local time of the zone.
func parseInstant(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.In(zone), nil
	}
	for _, layout := range instantLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("is %s, allowed is RFC 3339 (2026-03-29T01:00:00Z) or a local time (2026-03-29 01:00)", shorten(s))
}

// shorten quotes s and cuts it, so that an error cannot be flooded, and repeats no
// credentials.
func shorten(s string) string { return strictyaml.Quote(s) }
