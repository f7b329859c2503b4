package redislock_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// After each step of a random history of missed, good and failed numbers, a journal has the newest
// lines, and before them the latest exceptions, at most a fifth. It says since when they are complete,
// and the counter has its bytes.
func TestExceptionsOfRandomHistories(t *testing.T) {
	most := 150
	if os.Getenv("CRONCE_SOAK") != "" {
		most = 300
	}
	for _, o := range []redislock.Options{
		{JournalLines: 16}, {JournalLines: 4}, {JournalLines: 100, JournalBytes: 3000}, {JournalLines: 10, JournalBytes: 700}, {JournalBytes: 1},
		{JournalLines: 20, JournalBytes: 300}, {JournalLines: 20, JournalBytes: 450}, {JournalLines: 1},
	} {
		for _, good := range []int{0, 1, 5, 40} { // of each missed or failed number
			t.Run(fmt.Sprintf("%d lines, %d bytes, %d good", o.JournalLines, o.JournalBytes, good), func(t *testing.T) {
				t.Parallel()
				seed := rand.Uint64()
				t.Logf("the seed is %d", seed)
				d, c := realDriver(t, o)
				next := open(t, d, c, "job")
				waitOn(t, c, 400*time.Millisecond)
				all := []series.Line{journalOf(t, d).Lines[0]}
				for rnd := rand.New(rand.NewPCG(seed, 0)); len(all) < most; next++ {
					asked := claimOf("job", fmt.Sprint("n/", next), next)
					asked.Revision = fmt.Sprint("r", next%2) // no line folds
					outcome := series.OutcomeOK
					if rnd.IntN(good+1) == 0 {
						outcome = series.OutcomeFailed
						if rnd.IntN(2) == 0 {
							asked.Deadline = 0
						}
					}
					if asked.Deadline == 0 {
						claim(t, d, asked, series.KindMissed)
					} else {
						run := runOf(asked, claim(t, d, asked, series.KindGranted))
						e := d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: run, Outcome: outcome, OK: outcome == series.OutcomeOK}})[0]
						must(t, e.Err)
					}
					j := journalOf(t, d)
					all = append(all, j.Lines[len(j.Lines)-1])
					if newest := all[len(all)-1]; newest.Verdict == series.VerdictEnded || newest.Verdict == series.VerdictRan && newest.Outcome == "" {
						t.Fatalf("line %d: the end of the run is not in the line of its grant: %+v", len(all), newest)
					}
					if fault := misfits(&j, all, o.JournalLines); fault != "" {
						t.Fatalf("line %d: %s", len(all), fault)
					}
					if counted, bytes, _ := weights(t, c, []string{"job"}); counted != bytes {
						t.Fatalf("line %d: the counter says %d, the lines have %d", len(all), counted, bytes)
					}
				}
			})
		}
	}
}

func journalOf(t *testing.T, d *redislock.Driver) series.Journal {
	t.Helper()
	j, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	return j
}

// misfits returns how a journal differs from the journal of a series that has written the lines all.
func misfits(j *series.Journal, all []series.Line, most int) string {
	older := all[:len(all)-len(j.Lines)]
	if !slices.Equal(j.Lines, all[len(older):]) {
		return "the lines are not the newest"
	}
	older = slices.DeleteFunc(slices.Clone(older), func(l series.Line) bool { return !l.Exception() })
	if len(j.Exceptions) > len(older) || !slices.Equal(j.Exceptions, older[len(older)-len(j.Exceptions):]) {
		return "the exceptions are not the latest before the lines"
	}
	have := len(j.Exceptions) + len(j.Lines)
	if most > 0 && have > most || len(j.Exceptions) > series.MostExceptions(have) {
		return fmt.Sprintf("%d exceptions and %d lines are too many", len(j.Exceptions), len(j.Lines))
	}
	first := j.All()[0]
	if whole := len(j.Exceptions) == len(older); whole != (j.ExceptionsSince == 0) || j.ExceptionsSince > first.At {
		return fmt.Sprintf("the exceptions are complete: %v, and since %d, the first of them is of %d", whole, j.ExceptionsSince, first.At)
	}
	return ""
}
