package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// lines are how many lines a series has after each of so many verdicts, none of
// which folds into the one before; the newest must be the last of them.
func lines(t *testing.T, o redislock.Options, verdicts int) (counts []int64) {
	t.Helper()
	c := client(t, redisserver.Start(t).Addr())
	d := driver(t, c, o)
	mark := d.Open(t.Context(), []lock.Opening{{Key: "job", Node: "opener"}})[0].Mark
	waitOn(t, c, time.Duration(verdicts+1)*time.Millisecond)
	journal := fmt.Sprintf("%s:v1:{%[1]s.0}:j:job", redislock.DefaultNamespace)
	for i := range int64(verdicts) {
		a := d.Claim(t.Context(), []lock.Claim{{Key: "job", Owner: fmt.Sprint("n/", i), Number: mark + 1, After: mark, TTL: time.Minute, Attempts: 1,
			Latest: lock.MaxNumber, Revision: fmt.Sprint("r", i%2)}})[0]
		if a.Kind != lock.Missed {
			t.Fatalf("claim %d: %+v", i, a)
		}
		mark++
		j, err := d.Journal(t.Context(), "job", 0)
		must(t, err)
		if n := len(j.Lines); n == 0 || j.Lines[n-1].To != mark {
			t.Fatalf("verdict %d: the newest of %d lines is not there", i, n)
		}
		counts = append(counts, c.LLen(t.Context(), journal).Val())
	}
	return counts
}

// A journal has as many lines as it may have, to the line; the one that is too many
// takes a sixteenth of them along.
func TestJournalLinesToTheLine(t *testing.T) {
	counts := lines(t, redislock.Options{JournalLines: 16}, 20)
	want := []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 15, 16, 15, 16, 15}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("lines after each verdict: %v, want %v", counts, want)
	}
}

// A budget below two lines a series leaves it the newest, and nothing else.
func TestNewestLineIsKept(t *testing.T) {
	counts := lines(t, redislock.Options{JournalBytes: 1}, 5)
	if want := []int64{1, 1, 1, 1, 1}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("lines after each verdict: %v, want %v", counts, want)
	}
}
