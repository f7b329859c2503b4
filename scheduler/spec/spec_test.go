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

func TestAccessors(t *testing.T) {
	s := parse(t, " CRON_TZ=Asia/Shanghai 0 9 * * 1-5 ", nil)
	if s.Text() != "CRON_TZ=Asia/Shanghai 0 9 * * 1-5" || s.Zone().String() != "Asia/Shanghai" || s.Every() != 0 {
		t.Errorf("text %q, zone %v, every %v", s.Text(), s.Zone(), s.Every())
	}
	s = parse(t, "@every 90s", nil)
	if s.Every() != 90*time.Second || s.Zone() != time.UTC || s.Fixed() {
		t.Errorf("every %v, zone %v, fixed %v", s.Every(), s.Zone(), s.Fixed())
	}
	if s = parse(t, "@every 90s exclude=SAT", nil); s.Every() != 0 {
		t.Errorf("every %v, although Saturdays are excluded", s.Every())
	}
}
