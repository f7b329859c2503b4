package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/verify"
)

func TestSentenceNamesManualRuns(t *testing.T) {
	for _, c := range []struct {
		report verify.Report
		want   string
	}{
		{verify.Report{}, "No tick was due."},
		{verify.Report{Due: 1}, "1 tick was due, and has one verdict."},
		{verify.Report{Due: 1, Failed: 1}, "1 tick was due, and has one verdict."}, // without --fail-on
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

// The row of a job has the shards that had another attempt beside its other counts, and none of a job that has no such shards.
func TestRowNamesRerunShards(t *testing.T) {
	for want, r := range map[string]verify.Report{
		"\t1\t1 running, 2 shards rerun\tin order\t": {Job: "a", Running: 1, TakenOver: 1, RerunShards: 2, Begins: time.Unix(1, 0)},
		"\t0\t-\tin order\t":                         {Job: "a", Begins: time.Unix(1, 0)},
	} {
		var b strings.Builder
		if printJob(&b, &r, time.Unix(1, 0)); !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b.String(), want)
		}
	}
}

// Of many violations of a job the first are printed, and the rest is counted.
func TestPrintViolations(t *testing.T) {
	for n, want := range map[int]string{maxViolations: "", maxViolations + 2: "a: and 2 more, -o json has them all\n"} {
		var b strings.Builder
		printViolations(&b, &verify.Report{Job: "a", Violations: make([]verify.Violation, n)})
		if lines := strings.SplitAfter(b.String(), "\n"); lines[0] != "\n" || len(lines) != maxViolations+2+min(len(want), 1) || !strings.HasSuffix(b.String(), want) {
			t.Errorf("of %d violations it prints %q", n, b.String())
		}
	}
}
