package redislock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// lines are how many lines a series has after each of so many verdicts, none of
// which folds into the one before; the newest must be the last of them.
func lines(t *testing.T, o redislock.Options, verdicts int) (counts []int64) {
	t.Helper()
	c := client(t, redisserver.Start(t).Addr())
	d := newDriver(t, c, o)
	mark := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "opener"}})[0].Mark
	waitOn(t, c, time.Duration(verdicts+1)*time.Millisecond)
	journal := fmt.Sprintf("%s:v1:{%[1]s.0}:j:job", redislock.DefaultNamespace)
	for i := range int64(verdicts) {
		a := d.Claim(t.Context(), []series.Claim{{Key: "job", Owner: fmt.Sprint("n/", i), Number: mark + 1, After: mark, TTL: time.Minute, Attempts: 1,
			Latest: driver.MaxNumber, Revision: fmt.Sprint("r", i%2)}})[0]
		if a.Kind != series.KindMissed {
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

// The only line that is left records that exceptions were deleted before it, also after it was extended.
func TestExtendedLineKeepsItsMark(t *testing.T) {
	d, c := realDriver(t, redislock.Options{JournalBytes: 1})
	mark := open(t, d, c, "job") - 1
	waitOn(t, c, 10*time.Millisecond)
	for i, revision := range []string{"r1", "r2", "r2"} {
		missed := series.Claim{Key: "job", Owner: "n/1", Number: mark + 1, After: mark, TTL: time.Minute, Attempts: 1, Latest: driver.MaxNumber, Revision: revision}
		claim(t, d, missed, series.KindMissed)
		mark++
		j, err := d.Journal(t.Context(), "job", 0)
		must(t, err)
		if len(j.Lines) != 1 || j.Lines[0].To != mark || (j.ExceptionsSince != 0) != (i > 0) {
			t.Errorf("verdict %d: exceptions since %d, lines %+v", i, j.ExceptionsSince, j.Lines)
		}
	}
}

// A node with a smaller bound deletes the lines beyond it, and never the newest line: not even where
// more exceptions than lines of its bound are before it.
func TestSmallerBoundKeepsTheNewestLine(t *testing.T) {
	wide, c := realDriver(t, redislock.Options{JournalLines: 32})
	narrow := newDriver(t, c, redislock.Options{JournalLines: 1})
	mark := open(t, wide, c, "job") - 1
	waitOn(t, c, 50*time.Millisecond)
	miss := func(d *redislock.Driver, i int) series.Journal {
		t.Helper()
		claim(t, d, series.Claim{Key: "job", Owner: "n/1", Number: mark + 1, After: mark, TTL: time.Minute, Attempts: 1, Latest: driver.MaxNumber,
			Revision: fmt.Sprint("r", i%2)}, series.KindMissed)
		mark++
		j, err := d.Journal(t.Context(), "job", 0)
		must(t, err)
		return j
	}
	for i := range 40 {
		if j := miss(wide, i); i == 39 && (len(j.Exceptions) < 2 || len(j.Lines) < 10) {
			t.Fatalf("%d exceptions and %d lines", len(j.Exceptions), len(j.Lines))
		}
	}
	if j := miss(narrow, 40); len(j.All()) != 1 || len(j.Lines) != 1 || j.Lines[0].To != mark {
		t.Errorf("left are %+v, want the newest line", j.All())
	}
}

// A verdict that takes the journals to their bytes, to the byte, costs nothing; one byte more and
// it costs its series two lines.
func TestJournalBytesToTheByte(t *testing.T) {
	c := client(t, redisserver.Start(t).Addr())
	wide := newDriver(t, c, redislock.Options{})
	due := open(t, wide, c, "job")
	waitOn(t, c, 20*time.Millisecond)
	next := 0
	grant := func(d *redislock.Driver) (counted, lines int64) {
		asked := claimOf("job", fmt.Sprint("n/", next), due+int64(next))
		asked.Overlap = series.OverlapAllow
		claim(t, d, asked, series.KindGranted)
		next++
		counted, _, lines = weights(t, c, []string{"job"})
		return counted, lines
	}
	for range 4 {
		grant(wide)
	}
	before, _ := grant(wide)
	has, lines := grant(wide)
	each := has - before // of a grant: the lines are as long as one another
	if exact, n := grant(newDriver(t, c, redislock.Options{JournalBytes: has + each})); exact != has+each || n != lines+1 {
		t.Errorf("of %d bytes there are %d in %d lines, want all in %d", has+each, exact, n, lines+1)
	}
	if _, n := grant(newDriver(t, c, redislock.Options{JournalBytes: has + 2*each - 1})); n != lines+2-2 {
		t.Errorf("a byte too many leaves %d lines, want %d", n, lines)
	}
}

// Where the journals have all their bytes, to the byte, the text of an error costs its series two
// old lines, and is not kept where there are no two; one byte less and it costs nothing.
func TestErrorTextCostsLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		lines  int64 // before the end of the last run
		room   int64 // bytes that are left
		kept   bool
		remain int64 // lines
	}{
		{"room", 4, 1, true, 4},
		{"no room", 4, 0, true, 2},
		{"no room, three lines", 3, 0, true, 1},
		{"no room, and no two lines", 2, 0, false, 2},
		{"room, and two lines", 2, 1, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := client(t, redisserver.Start(t).Addr())
			d := newDriver(t, server, redislock.Options{})
			due := open(t, d, server, "job") // one line
			waitOn(t, server, 10*time.Millisecond)
			var run series.RunRef
			for i := range c.lines - 1 {
				asked := claimOf("job", fmt.Sprint("n/", i), due+i)
				asked.Overlap = series.OverlapAllow
				run = runOf(asked, claim(t, d, asked, series.KindGranted))
			}
			has, _, lines := weights(t, server, []string{"job"})
			if lines != c.lines {
				t.Fatalf("there are %d lines", lines)
			}
			text := strings.Repeat("x", series.MaxErrorText)
			full := newDriver(t, server, redislock.Options{JournalBytes: has + c.room})
			if e := full.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: run, Outcome: series.OutcomeFailed, Error: text}})[0]; !e.Ended {
				t.Fatalf("the end: %+v", e)
			}
			j, err := d.Journal(t.Context(), "job", 0)
			must(t, err)
			newest := j.Lines[len(j.Lines)-1]
			if (newest.Error == text) != c.kept || newest.Outcome != series.OutcomeFailed || int64(len(j.Lines)) != c.remain {
				t.Errorf("%d lines, the text is kept: %v", len(j.Lines), newest.Error == text)
			}
			if counted, bytes, _ := weights(t, server, []string{"job"}); counted != bytes {
				t.Errorf("the counter says %d, the lines have %d", counted, bytes)
			}
		})
	}
}

// Journals full of the longest error texts stay within their lines and their bytes. This bounds one
// read, and the reads of all journals together.
func TestJournalsOfErrors(t *testing.T) {
	const budget, length, each = 60_000, 40, series.MaxErrorText + 300
	c := client(t, redisserver.Start(t).Addr())
	keys := names(8)
	d := newDriver(t, c, redislock.Options{JournalLines: length})
	fail(t, d, c, keys[:1], 2*length)
	if _, bytes, lines := weights(t, c, keys[:1]); lines > length || bytes > length*each {
		t.Errorf("one journal has %d lines of %d bytes, want at most %d of %d", lines, bytes, length, length*each)
	}
	d = newDriver(t, c, redislock.Options{JournalBytes: budget})
	fail(t, d, c, keys[1:], 60)
	counted, bytes, _ := weights(t, c, keys)
	// Ends in one step, of which only the last ones find no room, may exceed the budget until the next step.
	if counted != bytes || bytes > budget+int64(len(keys))*each || bytes < budget*3/4 {
		t.Errorf("the counter says %d, the lines have %d, want about %d", counted, bytes, budget)
	}
	texts := 0
	for _, key := range keys {
		j, err := d.Journal(t.Context(), key, 0)
		must(t, err)
		if len(j.Lines) == 0 || j.Lines[len(j.Lines)-1].Error == "" && len(j.Lines) > 2 {
			t.Errorf("%s keeps %d lines, and not why the last run failed", key, len(j.Lines))
		}
		for i := range j.Lines {
			texts += len(j.Lines[i].Error)
		}
	}
	if texts > budget || texts < budget/2 {
		t.Errorf("the texts of all journals have %d bytes, want at most %d", texts, budget)
	}
}

// fail lets runs of series fail, one after the other, with the longest text.
func fail(t *testing.T, d *redislock.Driver, c redis.UniversalClient, keys []string, rounds int) {
	t.Helper()
	due := open(t, d, c, keys...)
	waitOn(t, c, time.Duration(rounds+1)*time.Millisecond)
	for round := range rounds {
		var es []series.EndRequest
		for _, key := range keys {
			asked := claimOf(key, fmt.Sprint("n/", round), due+int64(round))
			run := runOf(asked, claim(t, d, asked, series.KindGranted))
			es = append(es, series.EndRequest{RunRef: run, Outcome: series.OutcomeFailed, Error: strings.Repeat(fmt.Sprint(round%10), series.MaxErrorText)})
		}
		for _, e := range d.ReleaseRuns(t.Context(), es) {
			if !e.Ended {
				t.Fatalf("the end of a run: %+v", e)
			}
		}
	}
}
