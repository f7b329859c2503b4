package spec

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // images without a zone database must know the same zones
)

// cutZone splits "CRON_TZ=name rest". The name is empty if there is no prefix.
func cutZone(text string) (name, rest string, fault *Error) {
	after, ok := strings.CutPrefix(text, "CRON_TZ=")
	if !ok {
		after, ok = strings.CutPrefix(text, "TZ=")
	}
	if !ok {
		return "", text, nil
	}
	i := strings.IndexAny(after, " \t")
	switch {
	case i < 0:
		return "", "", &Error{Field: "zone", Value: after, Reason: "no schedule follows the zone"}
	case i == 0:
		return "", "", &Error{Field: "zone", Reason: "empty; allowed are names such as UTC or Asia/Shanghai"}
	}
	return after[:i], after[i:], nil
}

func pickZone(name string, zone *time.Location) (*time.Location, *Error) {
	if name != "" {
		return loadZone(name)
	}
	if zone == nil {
		return time.UTC, nil
	}
	if zone == time.Local || zone.String() == "Local" {
		return nil, localZone()
	}
	return zone, nil
}

func localZone() *Error {
	return &Error{Field: "zone", Value: "Local",
		Reason: "differs from machine to machine; name the zone, such as UTC or Asia/Shanghai"}
}

// zones holds each zone once, however many specs name it. Only names of the
// database get in, which bounds it.
var zones sync.Map // name -> *time.Location

func loadZone(name string) (*time.Location, *Error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" {
		return nil, localZone()
	}
	unknown := &Error{Field: "zone", Value: name,
		Reason: "not in the time zone database; allowed are names such as UTC or Asia/Shanghai"}
	if !zoneName(name) {
		return nil, unknown
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknown
	}
	known, _ := zones.LoadOrStore(name, zone)
	return known.(*time.Location), nil
}

// zoneName refuses names that a file system would take for another file:
// parts that are empty, and dots.
func zoneName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.ContainsAny(part, ".") {
			return false
		}
	}
	return true
}
