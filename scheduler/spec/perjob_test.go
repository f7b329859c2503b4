package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/scheduler/spec"
)

// The values of H never change, so that nodes of all versions, and the proof, compute the same
// instants.
func TestForJobVectors(t *testing.T) {
	for _, tc := range []struct{ job, text, want string }{
		{"report", "H H * * *", "53 20 * * *"},
		{"report", "H H H H * H", "53 53 20 13 * 0"},
		{"report", "H/15 * * * *", "8-59/15 * * * *"},
		{"report", "H(0-29)/10 H(22-23) H(29-31) * *", "3-29/10 22 29 * *"},
		{"cleanup", "H H * * *", "2 1 * * *"},
		{"cleanup", "CRON_TZ=Europe/Berlin  0 H,H(8-9) H * * H(1-5) 2027", "CRON_TZ=Europe/Berlin 0 2,8 1 * * 1 2027"},
		{"cleanup", "TZ=UTC H H H * * *", "TZ=UTC 38 2 1 * * *"},
		{"cleanup", "H(10-15)/5 H(0-9)/1 * * * exclude=SAT", "12-15/5 0-9/1 * * * exclude=SAT"},
		{"", "H H * * *", "50 11 * * *"},
	} {
		got, err := spec.ForJob(tc.text, tc.job)
		if err != nil || got != tc.want {
			t.Errorf("{%q, %q, %q}, // %v, want %q", tc.job, tc.text, got, err, tc.want)
		}
		if _, err := spec.Parse(got, nil); err != nil {
			t.Error(err)
		}
	}
}

// Each value of a field is chosen for some job, none outside the range, and all about as often; two
// fields of one job are chosen independently.
func TestForJobSpreads(t *testing.T) {
	const jobs = 60_000
	hours, minutes, alike := map[string]int{}, map[string]int{}, 0
	for i := range jobs {
		text, err := spec.ForJob("H H * * *", fmt.Sprint("job-", i))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(text)
		minutes[f[0]]++
		hours[f[1]]++
		if f[0] == f[1] {
			alike++
		}
	}
	if len(minutes) != 60 || len(hours) != 24 || alike < 800 || alike > 1200 {
		t.Errorf("%d minutes, %d hours, %d jobs with the minute of their hour", len(minutes), len(hours), alike)
	}
	for m, n := range minutes {
		if n < 800 || n > 1200 {
			t.Errorf("minute %s was chosen %d times, want about 1000", m, n)
		}
	}
}

// Without H a spec is returned unchanged, and an invalid H is left to Parse.
func TestForJobLeaves(t *testing.T) {
	for _, text := range []string{"", " 0  9 * * THU ", "@daily", "@every 90s", "H", "h * * * *", "* * * H *", "0 0 0 1 1 ? H", "HX * * * *", "H(1-2 * * * *", "H(-1-2) * * * *", "H/ * * * *", "CRON_TZ=UTC"} {
		if got, err := spec.ForJob(text, "report"); got != text || err != nil {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"H(5-70) * * * *":     `spec "H(5-70) * * * *": minute "H(5-70)": must be a range in 0 to 59, as in H(0-59)`,
		"0 H(9-8) * * *":      `hour "H(9-8)": must be a range in 0 to 23`,
		"0 9 H(0-3) * *":      `day of month "H(0-3)": must be a range in 1 to 31`,
		"0 9 * * H(1-7)":      `day of week "H(1-7)": must be a range in 0 to 6`,
		"0 0,H/0 * * *":       `hour "H/0": must be steps of 1 to 23`,
		"H(0-5)/6 * * * *":    `minute "H(0-5)/6": must be steps of 1 to 5`,
		"H(10-20)/11 * * * *": `must be steps of 1 to 10`,
		"H(5-5)/1 * * * *":    `must be steps of 1 to 1`,
	} {
		if got, err := spec.ForJob(text, "report"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q became %q, %v, want %s", text, got, err, want)
		}
	}
}

func ExampleForJob() {
	for _, job := range []string{"report", "cleanup"} {
		text, err := spec.ForJob("H H(1-5) * * *", job)
		fmt.Println(job, text, err)
	}
	// Output:
	// report 53 3 * * * <nil>
	// cleanup 2 2 * * * <nil>
}
