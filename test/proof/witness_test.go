package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/test/proof"
)

// The ledger comes back in order and complete, with the witness's time, and the
// guard refuses a fence below the highest it has seen.
func TestWitness(t *testing.T) {
	s := redisserver.Start(t)
	w := proof.NewWitness(s.Addr(), 42)
	defer w.Close()
	before := time.Now()
	record := func(job string, fence int64) proof.Record {
		return proof.Record{Kind: proof.Write, Job: job, Tick: 1767571200000, Fence: fence, Attempt: 2, Try: 1, Node: "n", Cause: "x"}
	}
	const high = int64(1)<<53 - 1 // the highest that Lua can tell from its neighbours
	for i, c := range []struct {
		record proof.Record
		want   bool
	}{
		{record("a", 5), true}, {record("a", 5), true}, {record("a", 4), false}, {record("b", 4), true},
		{record("a", high), true}, {record("a", high-1), false}, {record("a", high), true},
	} {
		if got, err := w.Write(c.record); got != c.want || err != nil {
			t.Errorf("write %d with fence %d = %v, %v, want %v", i, c.record.Fence, got, err, c.want)
		}
	}
	if err := w.Tell(proof.Record{Kind: proof.End, Job: "a"}); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var got []proof.Record
	err := w.Follow(ctx, func(r proof.Record) {
		if got = append(got, r); r.Kind == proof.End {
			stop()
		}
	})
	if err != nil || len(got) != 8 {
		t.Fatalf("Follow = %v, with %d records, want 8", err, len(got))
	}
	first, want := got[0], record("a", 5)
	want.Pid, want.Seq, want.At = 42, 1, first.At
	if first != want || first.At.Before(before.Add(-time.Millisecond)) || first.At.After(time.Now()) {
		t.Errorf("the first record is %+v, want %+v between %v and now", first, want, before)
	}
	for i, r := range got {
		if r.Seq != int64(i+1) || r.Refused != (i == 2 || i == 5) {
			t.Errorf("record %d is %+v", i, r)
		}
	}
}
