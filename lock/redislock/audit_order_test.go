package redislock

import (
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// The clock of one server was put back between two records: the records of its partition stay in the
// order of their numbers.
func TestAuditAfterABackwardStep(t *testing.T) {
	t.Parallel()
	record := func(partition int, number, at int64) series.AuditRecord {
		return series.AuditRecord{Partition: partition, Number: number, At: at}
	}
	all := byInstant([][]series.AuditRecord{{record(0, 1, 10), record(0, 2, 30), record(0, 3, 20)}, nil, {record(2, 7, 15), record(2, 8, 25)}})
	want := []series.AuditRecord{record(0, 1, 10), record(2, 7, 15), record(2, 8, 25), record(0, 2, 30), record(0, 3, 20)}
	if len(all) != len(want) {
		t.Fatalf("%d records, want %d", len(all), len(want))
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("record %d is %+v, want %+v", i, all[i], want[i])
		}
	}
}
