package zklock_test

import (
	"slices"
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
