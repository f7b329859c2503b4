package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

// A zone whose name is not in the database, or names another zone there, is refused, because it
// could not be loaded again. For an offset, the error suggests a zone.
func TestZonesThatCannotBeReadBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone *time.Location
		want string // in the error and a line end; empty: accepted
	}{
		{time.FixedZone("UTC+8", 8*3600), "or Asia/Shanghai; Etc/GMT-8 is 8 hours ahead of UTC\n"},
		{time.FixedZone("UTC-5", -5*3600), "Etc/GMT+5 is 5 hours behind UTC"},
		{time.FixedZone("Office", 3*3600), "Etc/GMT-3"},
		{time.FixedZone("Office", 0), "Etc/UTC"},
		{time.FixedZone("Nepal", 5*3600+45*60), "not in the time zone database; must be a name such as UTC or Asia/Shanghai\n"},
		{time.FixedZone("", 3600), "Etc/GMT-1"},
		{time.FixedZone("CET", 3600), `zone "CET": means another zone`}, // this zone has daylight saving
		{time.FixedZone("Asia/Shanghai", 3600), "means another zone"},
		{time.FixedZone("Asia/Shanghai", 8*3600), ""},
		{time.FixedZone("UTC", 0), ""},
		{zoneOf(t, "Europe/London"), ""},
		{zoneOf(t, "Etc/GMT-8"), ""},
		{time.UTC, ""},
		{nil, ""},
		{time.Local, "differs from machine to machine"},
	} {
		err := spec.CheckZone(test.zone)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error()+"\n", test.want) {
			t.Errorf("%v: %v, want %q", test.zone, err, test.want)
		}
	}
	for text, want := range map[string]string{"UTC+8": "Etc/GMT-8", "GMT-03": "Etc/GMT+3", "UTC+14": "Etc/GMT-14", "UTC+15": "Asia/Shanghai\n", "UTC-12": "Etc/GMT+12", "UTC-13": "Asia/Shanghai\n"} {
		if _, err := spec.Parse("CRON_TZ="+text+" 0 9 * * *", nil); err == nil || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
