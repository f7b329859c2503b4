package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

func TestNext(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"0/5 * * * * ?", "-n", "2", "--from", "2026-01-01T00:00:01Z"},
			[]string{"Thu 2026-01-01 00:00:05 +0000", "Thu 2026-01-01 00:00:10 +0000"}},
		{[]string{"30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-29", "-n", "1"},
			[]string{"Sun 2026-03-29 03:00:00 +0200", "2026-03-29 01:00:00", "02:30 does not exist on this day"}},
		{[]string{"CRON_TZ=America/New_York 30 1 * * *", "--from", "2026-11-01 00:00", "-n", "1"},
			[]string{"America/New_York", "first of two 01:30; the second does not run"}},
		{[]string{"0 9 L-1,LW * ?", "--from", "2026-11-01", "-n", "2"}, []string{"Sun 2026-11-29 09:00:00", "Mon 2026-11-30 09:00:00"}},
		{[]string{"0 0 9 ? * 6#3 2027", "--from", "2026-11-01", "-n", "1"}, []string{"note: Quartz counts Sunday as 1", "Sat 2027-01-16 09:00:00"}},
		{[]string{"0 0 9 1 1 ? 2027", "--from", "2027-06-01"}, []string{"note: no tick after 2027-06-01T00:00:00Z: the spec is finished, its last tick was 2027-01-01T09:00:00Z"}},
		{[]string{"0 0 ? * 1"}, []string{"note: Quartz counts Sunday as 1, here 1 is Monday"}},
		{[]string{"@every 90s", "--from", "1970-01-01T00:00:00Z", "-n", "1"}, []string{"1970-01-01 00:01:30"}},
		{[]string{"@yearly", "-n", "1"}, []string{" days"}},
	} {
		cronce(t, append([]string{"next"}, c.args...)...).want(t, exit.Fine, c.want...)
	}
}

// A spec in UTC has one column of ticks; any other has an additional column in UTC.
func TestNextColumns(t *testing.T) {
	for zone, want := range map[string]int{"UTC": 1, "Europe/Berlin": 2} {
		r := cronce(t, "next", "0 0 1 1 *", "--tz", zone, "--from", "2026-06-01", "-n", "1")
		header, row, _ := strings.Cut(r.stdout, "\n")
		if !strings.HasPrefix(header, zone) || strings.Count(header, "UTC") != 1 || strings.Count(row, ":00:00") != want {
			t.Errorf("%s: want %d columns, got\n%s", zone, want, r.stdout)
		}
	}
}

func TestNextJSON(t *testing.T) {
	r := cronce(t, "next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-29", "-n", "1", "-o", "json")
	r.want(t, exit.Fine)
	var got nextReport
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Zone != "Europe/Berlin" || len(got.Ticks) != 1 || got.Ticks[0].Remark == "" || got.Ticks[0].Tick.UTC().Hour() != 1 {
		t.Errorf("%+v", got)
	}
	cronce(t, "next", "0 0 12 * * ? 1999", "-o", "json").want(t, exit.Fine, `"ticks": []`)
}

func TestFromNow(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{-time.Second: "past", 59 * time.Second: "59s", 61 * time.Second: "1m1s", 90 * time.Minute: "1h30m", 49 * time.Hour: "2 days"} {
		if got := fromNow(now.Add(d), now); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got := fromNow(now.AddDate(400, 0, 0), now); got != "146097 days" {
		t.Errorf("400 years: %s", got)
	}
	if got := fromNow(now.AddDate(-400, 0, 0), now); got != "past" {
		t.Errorf("400 years ago: %s", got)
	}
}
