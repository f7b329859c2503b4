package inspect

import (
	"testing"

	"github.com/cronce/cronce/scheduler/verify"
)

func TestSentenceNamesManualRuns(t *testing.T) {
	for _, c := range []struct {
		report verify.Report
		want   string
	}{
		{verify.Report{}, "No tick was due."},
		{verify.Report{Due: 1}, "1 tick was due, and has one verdict."},
		{verify.Report{Due: 4}, "4 ticks were due, and each has one verdict."},
		{verify.Report{Manual: map[string]int{"ran": 1}}, "No tick was due; and 1 manual run: 1 ran."},
		{verify.Report{Due: 4, Manual: map[string]int{"ran": 1, "missed": 1}}, "4 ticks were due, and each has one verdict; and 2 manual runs: 1 missed, 1 ran."},
		{verify.Report{Due: 4, Running: 1, Manual: map[string]int{"failed": 2}}, "4 ticks were due: 1 run or wait to run, and each of the others has one verdict; and 2 manual runs: 2 failed."},
	} {
		if got := sentence(&Proof{Summary: verify.Summary{Total: c.report}, OK: true}, 0); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
