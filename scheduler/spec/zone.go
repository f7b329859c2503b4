package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // images without a zone database must have the same zones
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
		return "", "", &Error{Field: "zone", Reason: "empty; must be a name such as UTC or Asia/Shanghai"}
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

// CheckZone returns an *Error for a zone whose name is not in the time zone database or names
// another zone there, such as a zone of time.FixedZone. Only the name of a zone is recorded; other
// processes, and the verification of a journal, load the zone by this name. Nil is UTC.
func CheckZone(zone *time.Location) error {
	if zone == nil || zone == time.UTC {
		return nil
	}
	named, fault := loadZone(zone.String())
	if fault != nil {
		if _, offset := time.Unix(0, 0).In(zone).Zone(); offset%3600 == 0 && !strings.Contains(fault.Reason, "Etc/") {
			fault.Reason += offer(offset / 3600)
		}
		return fault
	}
	from := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	for month := range 12 * 50 {
		at := from.AddDate(0, month, 0)
		_, own := at.In(zone).Zone()
		if _, theirs := at.In(named).Zone(); own != theirs {
			return &Error{Field: "zone", Value: zone.String(),
				Reason: "means another zone than in the time zone database, by which it is read back; use time.LoadLocation"}
		}
	}
	return nil
}

// offer suggests the zone of the database that is this number of hours east of UTC. The sign in its
// name is the reverse.
func offer(hours int) string {
	switch {
	case hours == 0:
		return "; Etc/UTC has no offset"
	case hours < -12 || hours > 14:
		return ""
	}
	return fmt.Sprintf("; Etc/GMT%+d is %d hours %s UTC", -hours, max(hours, -hours), map[bool]string{true: "ahead of", false: "behind"}[hours > 0])
}

// offsetName matches an offset that is not the name of a zone.
var offsetName = regexp.MustCompile(`^(?:UTC|GMT|utc|gmt)([+-][0-9]{1,2})$`)

func localZone() *Error {
	return &Error{Field: "zone", Value: "Local",
		Reason: "differs from machine to machine; name the zone, such as UTC or Asia/Shanghai"}
}

// zones caches each zone once, however many specs name it. Its size is bounded, because it only
// holds names of the database.
var zones sync.Map // name -> *time.Location

func loadZone(name string) (*time.Location, *Error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" {
		return nil, localZone()
	}
	unknown := &Error{Field: "zone", Value: name,
		Reason: "not in the time zone database; must be a name such as UTC or Asia/Shanghai"}
	if parts := offsetName.FindStringSubmatch(name); parts != nil {
		hours, _ := strconv.Atoi(parts[1]) // the pattern has matched only digits
		unknown.Reason += offer(hours)
	}
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

// zoneName refuses names that a file system could resolve to another file: empty parts, and dots.
func zoneName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.ContainsAny(part, ".") {
			return false
		}
	}
	return true
}
