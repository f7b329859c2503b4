package sms_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/sms"
)

// The end of the quiet hours as the wall shows it, to the millisecond, and over changes of
// the clock.
func TestQuietHours(t *testing.T) {
	for _, c := range []struct {
		hours, zone, at string
		end             string // empty: it is not quiet
	}{
		{"22:00-08:00", "UTC", "2027-01-01T21:59:59.999Z", ""},
		{"22:00-08:00", "UTC", "2027-01-01T22:00:00Z", "2027-01-02T08:00:00Z"},
		{"22:00-08:00", "UTC", "2027-01-02T07:59:59.999Z", "2027-01-02T08:00:00Z"},
		{"22:00-08:00", "UTC", "2027-01-02T08:00:00Z", ""},
		{"22:00-08:00", "UTC", "2027-01-02T00:00:00Z", "2027-01-02T08:00:00Z"},
		{"12:30-14:00", "UTC", "2027-01-01T12:29:59.999Z", ""},
		{"12:30-14:00", "UTC", "2027-01-01T12:30:00Z", "2027-01-01T14:00:00Z"},
		{"12:30-14:00", "UTC", "2027-01-01T13:59:59.999Z", "2027-01-01T14:00:00Z"},
		{"12:30-14:00", "UTC", "2027-01-01T14:00:00Z", ""},
		{"00:00-06:00", "UTC", "2027-01-01T00:00:00Z", "2027-01-01T06:00:00Z"},
		{"20:00-00:00", "UTC", "2027-12-31T23:59:59.999Z", "2028-01-01T00:00:00Z"},
		{"22:00-08:00", "Asia/Kathmandu", "2027-01-01T16:14:59.999Z", ""},
		{"22:00-08:00", "Asia/Kathmandu", "2027-01-01T16:15:00Z", "2027-01-02T02:15:00Z"},
		// Berlin skips 02:00 to 03:00 on 28 March 2027, and has it twice on 31 October.
		{"22:00-08:00", "Europe/Berlin", "2027-03-27T21:00:00Z", "2027-03-28T06:00:00Z"},
		{"22:00-08:00", "Europe/Berlin", "2027-10-30T20:00:00Z", "2027-10-31T07:00:00Z"},
		{"22:00-02:30", "Europe/Berlin", "2027-03-28T00:59:59.999Z", "2027-03-28T01:30:00Z"},
		{"22:00-02:30", "Europe/Berlin", "2027-03-28T01:00:00Z", ""},
		{"22:00-02:30", "Europe/Berlin", "2027-10-31T00:29:59.999Z", "2027-10-31T01:30:00Z"},
		{"22:00-02:30", "Europe/Berlin", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		hours, err := sms.ParseQuietHours(c.hours, zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if end := sms.QuietEnd(hours, sms.Message{}, at); !end.IsZero() {
			got = end.UTC().Format(time.RFC3339)
		}
		if got != c.end {
			t.Errorf("%s in %s at %s: until %q, want %q", c.hours, c.zone, c.at, got, c.end)
		}
		if end := sms.QuietEnd(hours, sms.Message{Priority: sms.Urgent}, at); !end.IsZero() {
			t.Errorf("%s at %s: an urgent message waits until %v", c.hours, c.at, end)
		}
	}
	for _, bad := range []string{"", "22:00", "22:00-22:00", "24:00-08:00", "10-12", "22:00-08:00-09:00", "22:00:00-08:00"} {
		if _, err := sms.ParseQuietHours(bad, nil); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if end := sms.QuietEnd(sms.QuietHours{}, sms.Message{}, time.Now()); !end.IsZero() {
		t.Errorf("no quiet hours, and it is quiet until %v", end)
	}
}

// At any minute of three years, in zones whose clocks change, what ends is later, and not
// quiet any more.
func TestQuietHoursEnd(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/St_Johns", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"22:00-08:00", "23:30-02:15", "00:00-00:30", "01:30-02:30"} {
			hours, err := sms.ParseQuietHours(s, zone)
			if err != nil {
				t.Fatal(err)
			}
			for at := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2013; at = at.Add(17 * time.Minute) {
				end := sms.QuietEnd(hours, sms.Message{}, at)
				if end.IsZero() {
					continue
				}
				if !end.After(at) || end.Sub(at) > 24*time.Hour || !sms.QuietEnd(hours, sms.Message{}, end).IsZero() {
					t.Fatalf("%s in %s at %v ends at %v", s, name, at, end)
				}
			}
		}
	}
}
