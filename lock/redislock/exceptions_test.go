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

// After each step of a random history of missed, good, failed and divided numbers, a journal has the newest
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
					switch {
					case asked.Deadline == 0:
						claim(t, d, asked, series.KindMissed)
					case rnd.IntN(3) == 0:
						divided(t, d, asked, rnd, outcome)
					default:
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

// divided divides a number. Its shards end with this outcome, some of them after they were given back, up to ten times.
func divided(t *testing.T, d *redislock.Driver, c series.Claim, rnd *rand.Rand, outcome string) {
	t.Helper()
	c.Attempts = 12
	owner, shards := c.Owner, 1+rnd.IntN(4)
	for i := range shards {
		c.Sharding = &series.Sharding{Shards: shards, Want: []int{i}, Most: 1}
		backs := max(0, rnd.IntN(40)-29)
		for n := range backs + 1 {
			c.Owner = fmt.Sprintf("%s.%d.%d", owner, i, n)
			granted := claim(t, d, c, series.KindGranted)
			run := runOf(c, granted)
			run.Shard, run.Shards, run.Fence = i, shards, granted.Shards[0].Fence
			end := series.EndRequest{RunRef: run, Outcome: outcome, OK: outcome == series.OutcomeOK}
			if n < backs {
				end = series.EndRequest{RunRef: run, State: series.RunGivenBack}
			}
			if e := d.ReleaseRuns(t.Context(), []series.EndRequest{end})[0]; e.Err != nil || !e.Ended {
				t.Fatalf("shard %d: %+v", i, e)
			}
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
