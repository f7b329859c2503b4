package proof_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// counted is how many ticks run at least while an operator requests one run more.
const counted = 30

// An operator requests a run of a job each second: it is one run more, and each tick has its verdict.
// The node of another requested run is killed: a second node runs it again, with the same instant in its
// id and a higher fence.
func TestManualRuns(t *testing.T) {
	t.Parallel()
	both(t, manualRuns)
}

func manualRuns(t *testing.T, p proof.Program) {
	binary(t) // also members have the commands of the real binary
	c := proof.NewCluster(t, p)
	pulse := proof.Job{Name: "pulse", Every: time.Second, Lease: lease, Takeover: scheduler.TakeoverRerun, Attempts: 100,
		Overlap: scheduler.OverlapAllow, Misfire: scheduler.MisfireAll, Deadline: time.Minute}
	rare := proof.Job{Name: "rare", Every: 24 * time.Hour, Work: 2 * time.Second, Lease: lease, Takeover: scheduler.TakeoverRerun, Attempts: 100}
	jobs := []proof.Job{pulse, rare}
	startNodes(c, 3, proof.Node{Jobs: jobs})
	from := c.Warm(pulse)
	ran := func(n int) func(proof.View) bool {
		return func(v proof.View) bool { return len(instants(v.Find(isEnd, ofJob(pulse), since(from)))) >= n }
	}
	c.Must("half of the ticks run", ran(counted/2))
	more := requestRun(t, c, pulse)
	c.Must("all ticks run", ran(counted+1))
	mended := killManual(t, c, rare)
	c.Settle(jobs...)
	operate(t, c, "verify")
	e := c.Finish(jobs...)
	e.Allowed = explainedByDeath
	e.Requested = func(r *proof.Record) bool {
		return r.Job == pulse.Name && r.Tick == more || r.Job == rare.Name && r.Tick == mended
	}
	acquit(t, e)
	oneMore(t, e, pulse, more)
}

// oneMore checks that the job had one run more than ticks: the requested run, in one attempt.
func oneMore(t *testing.T, e *proof.Evidence, j proof.Job, requested int64) {
	t.Helper()
	due := j.Ticks(e.From, e.To)
	runs := instants(e.Find(isEnd, ofJob(j), func(r *proof.Record) bool { return due[0] <= r.Tick && r.Tick <= due[len(due)-1] }))
	verdicts := proof.Verdicts(e, j)
	t.Logf("%d runs, and of %d ticks %v", len(runs), len(due), verdicts)
	if ran := verdicts[series.VerdictRan]; len(runs) != ran+1 || ran < counted {
		t.Errorf("%d runs of %s, and of its ticks %v, want one run more than ticks, and at least %d ticks", len(runs), j.Name, verdicts, counted)
	}
	if n := len(e.Find(isStart, ofJob(j), func(r *proof.Record) bool { return r.Tick == requested })); n != 1 {
		t.Errorf("the requested run started %d times, want 1", n)
	}
}

// killManual requests a run, kills its node and waits until another node has ended the run. It returns
// the instant of the run.
func killManual(t *testing.T, c *proof.Cluster, j proof.Job) int64 {
	t.Helper()
	at := requestRun(t, c, j)
	ours := func(r *proof.Record) bool { return r.Job == j.Name && r.Tick == at }
	var first proof.Record
	c.Must("the requested run is under way", func(v proof.View) bool {
		runs := v.UnderWay(ours)
		if len(runs) > 0 {
			first = runs[0]
		}
		return len(runs) > 0
	})
	c.Process(first.Pid).Kill()
	var last proof.Record
	c.Must("another attempt of the requested run ends", func(v proof.View) bool {
		ends := v.Find(isEnd, attemptAfter(first))
		if len(ends) > 0 {
			last = ends[0]
		}
		return len(ends) > 0
	})
	if first.Attempt != 1 || last.Attempt != 2 || last.Fence <= first.Fence || last.Node == first.Node {
		t.Errorf("after %+v came %+v, want attempt 2 on another node with a higher fence", first, last)
	}
	return at
}

// requestRun requests a run of a job with the real binary, and returns its instant, Unix ms.
func requestRun(t *testing.T, c *proof.Cluster, j proof.Job) int64 {
	t.Helper()
	out := operate(t, c, "run", j.Name, "--reason", "the data was late")
	_, rest, _ := strings.Cut(out, j.Name+"@")
	text, _, _ := strings.Cut(rest, " is requested")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Truncate(time.Second).Equal(at) {
		t.Fatalf("cronce run printed %q (%v), want the instant of the run, with a part of a second", out, err)
	}
	return at.UnixMilli()
}

// operate runs a command of the real binary on the cluster's Redis, which must end without an error,
// and returns its output.
func operate(t *testing.T, c *proof.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Command(built.path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("cronce %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func ofJob(j proof.Job) func(*proof.Record) bool {
	return func(r *proof.Record) bool { return r.Job == j.Name }
}

// since matches the records of runs with an instant from then on.
func since(from time.Time) func(*proof.Record) bool {
	return func(r *proof.Record) bool { return !r.Instant().Before(from) }
}

// instants returns the instants of records, each once, in rising order.
func instants(records []proof.Record) (all []int64) {
	for i := range records {
		all = append(all, records[i].Tick)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
