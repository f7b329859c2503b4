package policy_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/policy"
)

func TestLimitFaults(t *testing.T) {
	for _, c := range []struct {
		limit policy.Limit
		want  string // the fields with a fault
	}{
		{policy.Limit{}, ""},
		{policy.Limit{Name: "reports", Of: 1}, ""},
		{policy.Limit{Name: strings.Repeat("a", 50), Of: 10_000}, ""},
		{policy.Limit{Name: strings.Repeat("a", 51), Of: 10_001}, "name of"},
		{policy.Limit{Name: "reports"}, "of"},
		{policy.Limit{Name: "reports", Of: -1}, "of"},
		{policy.Limit{Of: 3}, "name"},
		{policy.Limit{Name: "a*b", Of: 3}, "name"},
		{policy.Limit{Name: "a/b", Of: 3}, "name"},
	} {
		var fields []string
		c.limit.Faults(func(field, _ string) { fields = append(fields, field) })
		if got := strings.Join(fields, " "); got != c.want {
			t.Errorf("%+v: faults in %q, want %q", c.limit, got, c.want)
		}
	}
}

// Every version takes a place under the same key.
func TestKey(t *testing.T) {
	if got := (policy.Limit{Name: "reports", Of: 3}).Key(); got != "limit/reports" {
		t.Errorf("the key is %q", got)
	}
	if got := (policy.Limit{}).String(); got != "" {
		t.Errorf("no limit is %q", got)
	}
}

// The longest record is a word that every store accepts.
func TestTheLongestRecord(t *testing.T) {
	r := policy.Record{Overlap: policy.Replace, Misfire: policy.Once, Deadline: math.MaxInt64, Jitter: math.MaxInt64, Timeout: math.MaxInt64,
		Limit: policy.Limit{Name: strings.Repeat("a", 50), Of: 10_000}, Broadcast: true}
	if err := driver.CheckWord("policies", r.String()); err != nil {
		t.Error(err)
	}
}

// A note of a place fits every store, and two runs of jobs with long names have different notes.
func TestPlaceNote(t *testing.T) {
	long := strings.Repeat("a", 128)
	seen := map[string]string{}
	for run, want := range map[string]string{
		"report@2027-03-26T03:00:00.000Z":           "report@2027-03-26T03:00:00.000Z",
		"report@2027-03-26T03:00:00.000Z#999":       "report@2027-03-26T03:00:00.000Z#999",
		long + "@2027-03-26T03:00:00.000Z#999":      "aaaa",
		long[1:] + "b@2027-03-26T03:00:00.000Z#999": "aaaa",
		long[:36] + "@2027-03-26T03:00:00.000Z#1":   "aaaa",
		long[:35] + "@2027-03-26T03:00:00.000Z#1":   long[:35] + "@2027-03-26T03:00:00.000Z#1",
	} {
		note := policy.PlaceNote(run)
		if err := driver.CheckNote(note); err != nil || !strings.HasPrefix(note, want) {
			t.Errorf("%s: the note is %q, %v", run, note, err)
		}
		if other := seen[note]; other != "" {
			t.Errorf("%s and %s have the note %s", run, other, note)
		}
		seen[note] = run
	}
}
