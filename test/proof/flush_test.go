package proof_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/test/proof"
)

// The store is flushed. Runs under way are cancelled, and every job is opened again above the highest
// tick that any node has seen. At most one tick of a job is lost with the data, and none runs a second
// time. Fences keep growing, also after a second flush, when no node remembers the last fence.
func TestFlush(t *testing.T) {
	t.Parallel()
	both(t, flush)
}

func flush(t *testing.T, p proof.Program) {
	c := proof.NewCluster(t, p)
	long := proof.Job{Name: "long", Every: 5 * time.Second, Work: 4 * time.Second, Lease: 2 * time.Second}
	jobs := append(seconds("quick", 4), long)
	startNodes(c, 3, proof.Node{Jobs: jobs})
	from := c.Warm(jobs...)
	c.Pass(running() / 3)
	run := fresh(c, "long", time.Second)
	flushed := flushAll(t, c)
	c.Pass(running() / 3)
	gap := stopAll(t, c)
	journals := c.Journals(jobs...)
	forgotten := flushAll(t, c)
	startNodes(c, 3, proof.Node{Jobs: jobs})
	c.Warm(jobs...)
	c.Pass(running() / 3)

	second := c.Finish(jobs...)
	second.Since = forgotten
	acquit(t, second)
	first := second.Before(forgotten)
	first.Journals, first.Since, first.Due = journals, flushed.Add(500*time.Millisecond), map[string][]int64{}
	lost := interval{from: flushed.Add(-time.Second), to: flushed.Add(2 * time.Second)}
	for _, j := range jobs {
		first.Due[j.Name] = append(j.Ticks(from, lost.from), j.Ticks(lost.to, gap.asked.Add(-time.Second))...)
		reopened(t, first, j, lost)
	}
	acquit(t, first)
	wantEnd(t, first, run, lock.ErrLost.Error(), interval{from: flushed, to: flushed.Add(long.Lease + time.Second)})
}

func flushAll(t *testing.T, c *proof.Cluster) time.Time {
	t.Helper()
	client := proof.NewClient(c.Store.Addr())
	defer client.Close()
	if err := client.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// reopened: the job begins again, above all that ran before, and lost at most one
// tick.
func reopened(t *testing.T, e *proof.Evidence, j proof.Job, lost interval) {
	t.Helper()
	ran := map[int64]bool{}
	highest := int64(0)
	opened := e.Journals[j.Name].Lines[0]
	for _, r := range e.Find(isStart, func(r *proof.Record) bool { return r.Job == j.Name }) {
		ran[r.Tick] = true
		if r.At.UnixMilli() < opened.At {
			highest = max(highest, r.Tick)
		}
	}
	if opened.Verdict != series.VerdictOpened || opened.To < highest {
		t.Errorf("%s: opened as %+v, though %d had run", j.Name, opened, highest)
	}
	gone := 0
	for _, tick := range j.Ticks(lost.from, lost.to) {
		if !ran[tick] {
			gone++
		}
	}
	if gone > 1 {
		t.Errorf("%s: %d ticks were lost with the store's data, want at most 1", j.Name, gone)
	}
}
