package spec_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

const layout = "2006-01-02 15:04:05 -07:00"

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parse(t testing.TB, text string, loc *time.Location) *spec.Schedule {
	t.Helper()
	s, err := spec.Parse(text, loc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instant reads a local time of a zone, or one with an offset.
func instant(t testing.TB, text string, loc *time.Location) time.Time {
	t.Helper()
	for _, form := range []string{layout, "2006-01-02 15:04:05.999", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(form, text, loc); err == nil {
			return at
		}
	}
	t.Fatalf("bad time %q in a test table", text)
	return time.Time{}
}
