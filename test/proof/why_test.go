package proof_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// After real faults, and acts of an operator, cronce why explains each tick with the sentence of its verdict.
func TestWhyAfterFaults(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, binary(t))
	w := &whys{t: t, c: c, jobs: map[string]proof.Job{}}
	for _, j := range []proof.Job{
		{Name: "fine", Every: 2 * time.Second, Misfire: scheduler.MisfireSkip},
		{Name: "held", Every: 2 * time.Second},
		{Name: "slow", Every: 2 * time.Second, Work: 5 * time.Second},
		{Name: "hangs", Every: 5 * time.Second, Work: time.Hour},
		{Name: "moved", Every: 8 * time.Second, Work: 3 * time.Second, Takeover: scheduler.TakeoverRerun, Attempts: 100},
		{Name: "single", Every: 8 * time.Second, Work: 3 * time.Second},
	} {
		j.Lease = lease
		w.jobs[j.Name], w.all = j, append(w.all, j)
	}
	startNodes(c, 3, proof.Node{Jobs: w.all})
	c.Warm(w.all...)
	ran := w.first("fine", isEnd).Tick
	skipped := w.skip()
	cancelled := w.cancel()
	paused := w.pause()
	moved, lost := w.kill("moved"), w.kill("single")
	missed := w.outage()
	for _, x := range []struct {
		job  string
		tick int64
		want string // N: a node, T: a time, D: a duration
	}{
		{"fine", ran, `Ran on N as attempt 1, D after the tick, ok in D \(fence \d+\)\.`},
		{"moved", moved, `N was granted it at T and did not end it before its lease was over; ran on N as attempt 2, D after the tick, ok in D \(fence \d+\)\.`},
		{"single", lost, `Lost: N was granted it at T as attempt 1, and did not end it before its lease was over, and no other node may run the tick again\.`},
		{"fine", missed, `Missed( with \d+ others?)?: no node claimed it between T and T, and the job's misfire policy ran at most the latest ones\.`},
		{"held", paused, `Paused by \S+ since T: the gateway is moved\. (It was recorded at T, with all ticks after T|A node recorded it at T)\.`},
		{"slow", skipped, `Skipped: the run of T on N was alive, and overlap is skip\.`},
		{"hangs", cancelled, `Ran on N as attempt 1, D after the tick, and ended as cancelled after D: ` +
			`context canceled \(lock: cancelled by an operator\)\. Cancelled by \S+ at T: it hangs\.`},
	} {
		out := operate(t, c, "why", x.job, time.UnixMilli(x.tick).UTC().Format(time.RFC3339))
		want := strings.NewReplacer("N", `[a-z]\w*-[0-9a-f]{8}`, "T", `[0-9:.]+Z`, "D", `(?:\d+m)?[0-9.]+[mµ]?s`).Replace(x.want)
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
			t.Errorf("%s@%d:\n%s\nwant the line\n%s", x.job, x.tick, out, want)
		}
	}
	operate(t, c, "verify")
}

// whys makes ticks with each verdict.
type whys struct {
	t    *testing.T
	c    *proof.Cluster
	jobs map[string]proof.Job
	all  []proof.Job
}

// first waits for a record of a job, and returns it.
func (w *whys) first(job string, which ...func(*proof.Record) bool) (first proof.Record) {
	w.t.Helper()
	w.c.Must(job+" has such a run", func(v proof.View) bool {
		found := v.Find(append(which, ofJob(w.jobs[job]))...)
		if len(found) > 0 {
			first = found[0]
		}
		return len(found) > 0
	})
	return first
}

// line waits for a line with a verdict, of a tick or of any (0), in the journal of a job, and returns it.
func (w *whys) line(job string, tick int64, v series.Verdict) (first series.Line) {
	w.t.Helper()
	w.c.Must(job+" has a tick that is "+string(v), func(proof.View) bool {
		for _, l := range w.c.Journals(w.jobs[job])[job].Lines {
			if l.Verdict == v && (tick == 0 || l.To == tick) {
				first = l
				return true
			}
		}
		return false
	})
	return first
}

// underWay waits for a run of a job that is under way, and returns it.
func (w *whys) underWay(job string) (r proof.Record) {
	w.t.Helper()
	w.c.Must("a run of "+job+" is under way", func(v proof.View) bool {
		for _, r = range v.UnderWay(ofJob(w.jobs[job])) {
			if w.c.Process(r.Pid).Alive() {
				return true
			}
		}
		return false
	})
	return r
}

// skip waits for a tick that is skipped because of a run, and for the end of that run.
func (w *whys) skip() int64 {
	l := w.line("slow", 0, series.VerdictSkipped)
	w.first("slow", isEnd, func(r *proof.Record) bool { return r.Tick == l.Blocker })
	return l.To
}

// cancel cancels a run that hangs, and waits for its end.
func (w *whys) cancel() int64 {
	r := w.underWay("hangs")
	operate(w.t, w.c, "cancel", "hangs", "--reason", "it hangs", "--wait", "1m")
	return r.Tick
}

// pause pauses a job, and resumes it after a tick.
func (w *whys) pause() int64 {
	j := w.jobs["held"]
	operate(w.t, w.c, "pause", j.Name, "--reason", "the gateway is moved")
	since := time.Now().Add(time.Second) // a node claims a tick at its instant, or a moment before
	w.c.Pass(2 * j.Every)
	ticks := j.Ticks(since, time.Now())
	operate(w.t, w.c, "resume", j.Name)
	return ticks[0]
}

// kill kills the node of a run, and waits until the run has its end.
func (w *whys) kill(job string) int64 {
	w.t.Helper()
	r := w.underWay(job)
	victim := w.c.Process(r.Pid)
	victim.Kill()
	if w.jobs[job].Takeover == scheduler.TakeoverRerun {
		w.first(job, isEnd, attemptAfter(r))
	} else {
		w.line(job, r.Tick, series.VerdictLost)
	}
	w.c.Start(proof.Node{Name: victim.Node.Name + "b", Jobs: w.all})
	return r.Tick
}

// outage kills all nodes, lets ticks pass, and starts others, which find that these were missed.
func (w *whys) outage() int64 {
	w.t.Helper()
	for _, p := range w.c.Alive() {
		p.Kill()
	}
	since := time.Now().Add(time.Second) // a node claims a tick at its instant, or a moment before
	w.c.Pass(6 * time.Second)
	j := w.jobs["fine"]
	tick := j.Ticks(since, time.Now())[0]
	w.c.Start(proof.Node{Name: "late", Jobs: w.all})
	w.first("fine", isEnd, func(r *proof.Record) bool { return r.Tick > tick })
	return tick
}
