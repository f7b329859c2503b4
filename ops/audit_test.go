package ops

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

type partitions int

func (n partitions) Partitions() int { return int(n) }

func (partitions) Partition(string) int { return 0 }

// A gap in the audit of a namespace is named. Between the records of one job the numbers of the others are missing, and
// between the newest ones of several partitions too.
func TestAuditGaps(t *testing.T) {
	records := []series.AuditRecord{{Number: 1}, {Number: 2}, {Number: 4}}
	if all, one := AuditGaps(nil, "", records), AuditGaps(nil, "report", records); all == "" || one != "" {
		t.Errorf("%q, and of one job %q", all, one)
	}
	if none := AuditGaps(nil, "", records[:2]); none != "" {
		t.Errorf("without a gap: %q", none)
	}
	for n, gap := range map[partitions]bool{1: true, 2: false} {
		front := series.FrontOf(struct {
			driver.Driver
			partitions
		}{nil, n})
		for _, store := range []any{n, front} {
			if text := AuditGaps(store, "", records); (text != "") != gap {
				t.Errorf("of %d partitions: %q", n, text)
			}
		}
	}
}

// For machines a record has its instants in RFC 3339, also those in the states. The zero instant of a record that cannot be read is left out.
func TestAuditViews(t *testing.T) {
	const tick = "1800000000000"
	for _, c := range []struct {
		record series.AuditRecord
		want   string
	}{
		{series.AuditRecord{Number: 1, At: 1_800_000_000_000_000, Before: "running", After: "paused until " + tick}, `"at":"2027-01-15T08:00:00Z","who":"","action":"","job":"","change":0,"before":"running","after":"paused until 2027-01-15T08:00:00Z"`},
		{series.AuditRecord{Number: 1, Before: "paused", After: "run " + tick + ": queue", Unreadable: "x"}, `"number":1,"who":"","action":"","job":"","change":0,"before":"paused","after":"run 2027-01-15T08:00:00Z: queue"`},
		{series.AuditRecord{Number: 1, Before: "skip 0", After: "paused until then"}, `"before":"skip 0","after":"paused until then"`},
	} {
		got, err := json.Marshal(AuditViews([]series.AuditRecord{c.record})[0])
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
}
