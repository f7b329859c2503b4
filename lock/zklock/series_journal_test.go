package zklock_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

func withoutGap(t *testing.T, lines []series.Line) {
	t.Helper()
	for i := 1; i < len(lines); i++ {
		if lines[i-1].To != lines[i].From {
			t.Errorf("%+v follows %+v", lines[i], lines[i-1])
		}
	}
}

// If one step has more lines than a series may have bytes, all older chunks are deleted with the
// first of these lines. The latest exceptions among them all are kept.
func TestJournalOfALongStep(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Namespace: fresh(), JournalBytes: 8000})
	due := open(t, d, "job")
	miss(t, d, "job", due, 40)
	waitOn(t, d, 150*time.Millisecond)
	missAtOnce(t, d, "job", due+40, 100)
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	if len(j.Exceptions) != 4 || len(j.Lines) != 16 || !j.Truncated {
		t.Errorf("%d exceptions and %d lines are kept, truncated %v, want 4, 16, true", len(j.Exceptions), len(j.Lines), j.Truncated)
	}
	withoutGap(t, slices.Concat(j.Exceptions, j.Lines))
}

// Each run has one line, with its end, also if the lines before it have just become a chunk and its line
// is alone in the node of the series.
func TestEndAfterAChunkHasNoLineOfItsOwn(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Namespace: fresh()})
	due := open(t, d, "job")
	const runs = 40
	waitOn(t, d, runs*time.Millisecond)
	for i := range int64(runs) {
		c := claimOf("job", "n/"+strconv.FormatInt(i, 10), due+i)
		a := d.Claim(t.Context(), []series.Claim{c})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d: %+v", i, a)
		}
		e := series.EndRequest{RunRef: series.RunRef{Key: "job", Number: c.Number, Owner: c.Owner, Fence: a.Fence}, Outcome: series.OutcomeOK, OK: true}
		if ended := d.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !ended.Ended {
			t.Fatalf("end %d: %+v", i, ended)
		}
	}
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	for _, l := range j.Lines[1:] { // behind the opening
		if l.Verdict != series.VerdictRan || l.Outcome != series.OutcomeOK || l.Ended == 0 {
			t.Errorf("a line is %+v, want a run with its end", l)
		}
	}
	if len(j.Lines) != 1+runs {
		t.Errorf("%d lines are kept, want %d", len(j.Lines), 1+runs)
	}
}

// Any number of the newest lines is returned, and it is said whether there are older ones, also if the lines
// that are returned end between two chunks.
func TestJournalOfEachLength(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Namespace: fresh()})
	const lines = 61 // with the opening
	miss(t, d, "job", open(t, d, "job"), lines-1)
	for n := 1; n <= lines; n++ {
		j, err := d.Journal(t.Context(), "job", n)
		must(t, err)
		if len(j.Lines) != n || j.Truncated != (n < lines) {
			t.Errorf("of %d lines, %d that were requested are %d, truncated %v", lines, n, len(j.Lines), j.Truncated)
		}
	}
}

// A batch has so many long lines for one series that a server would refuse them in one write. They are
// written in several.
func TestLinesOfManyWrites(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Namespace: fresh()})
	const n = 600
	long := strings.Repeat("<", 190) // each is stored in six bytes
	begin := now(t, d).Add(-time.Hour).UnixMilli()
	o := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: "r1", Begin: begin}})
	must(t, o[0].Err)
	cs := make([]series.Claim, n)
	for i := range cs {
		cs[i] = claimOf("job", long+"/"+strconv.Itoa(i), o[0].Mark+1+int64(i))
		cs[i].Deadline, cs[i].Revision = 0, long+strconv.Itoa(i%2)
	}
	for i, a := range d.Claim(t.Context(), cs) {
		if a.Kind != series.KindMissed {
			t.Fatalf("claim %d: %+v", i, a)
		}
	}
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	if len(j.Lines) != n+1 {
		t.Errorf("%d lines are kept, want %d", len(j.Lines), n+1)
	}
}

// Nodes of a journal that are missing, or cannot be read, are deleted with the lines that become too
// many, and no step fails for them.
func TestDamagedChunks(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{Namespace: fresh(), JournalLines: 100})
	due := open(t, d, "job")
	miss(t, d, "job", due, 200)
	names, _, err := op.Children(d.SeriesPath("job"))
	must(t, err)
	damaged := 0
	for _, name := range names {
		if path := d.SeriesPath("job") + "/" + name; strings.HasPrefix(name, "lines") {
			if damaged++; damaged == 2 {
				must(t, op.Delete(path, -1))
			} else {
				_, err := op.Set(path, []byte("damaged"), -1)
				must(t, err)
			}
		}
	}
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	if damaged < 4 || !slices.ContainsFunc(j.Lines, unreadable) {
		t.Errorf("of %d nodes that are damaged the journal has the lines %+v", damaged, j.Lines)
	}
	miss(t, d, "job", due+200, 200)
	j, err = d.Journal(t.Context(), "job", 0)
	must(t, err)
	all := slices.Concat(j.Exceptions, j.Lines)
	if n := len(all); n < 60 || n > 100 || slices.ContainsFunc(all, unreadable) {
		t.Errorf("%d lines are kept after as many were deleted as were damaged: %+v", n, all)
	}
	withoutGap(t, all)
}

func unreadable(l series.Line) bool { return l.Verdict == series.VerdictUnreadable }
