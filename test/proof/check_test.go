package proof_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

var (
	begun = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	step  = 10 * time.Second
)

// tick is the instant of the n-th tick, moved by some milliseconds.
func tick(n int, ms ...int) time.Time {
	at := begun.Add(time.Duration(n) * step)
	for _, m := range ms {
		at = at.Add(time.Duration(m) * time.Millisecond)
	}
	return at
}

// innocent is the evidence of one job that ran four ticks on two nodes.
func innocent() *proof.Evidence {
	e := &proof.Evidence{
		Jobs: []proof.Job{{Name: "job", Every: step}}, From: tick(1), To: tick(5),
		Journals: map[string]series.Journal{}, Ends: map[int]error{},
	}
	j := series.Journal{Key: "job", Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 10s", Zone: "UTC", First: tick(0).UnixMilli(), Last: tick(5).UnixMilli()}}}
	j.Lines = append(j.Lines, series.Line{At: tick(0).UnixMilli(), Verdict: series.VerdictOpened, From: tick(0).UnixMilli(), To: tick(0).UnixMilli(), Node: "n1", Revision: "r"})
	for n := 1; n <= 4; n++ {
		j.Lines = append(j.Lines, granted(n))
		run(e, n, 1, tick(n, 5), tick(n, 1000))
	}
	e.Journals["job"] = j
	return e
}

func fence(n, attempt int) int64 { return int64(100*n + attempt) }

func granted(n int) series.Line {
	return series.Line{
		At: tick(n, 1).UnixMilli(), Verdict: series.VerdictRan, From: tick(n - 1).UnixMilli(), To: tick(n).UnixMilli(), Node: node(n),
		Revision: "r", Fence: fence(n, 1), Attempt: 1, Outcome: "ok", Ended: tick(n, 1001).UnixMilli(),
	}
}

func node(n int) string { return fmt.Sprint("n", n%2+1) }

// run adds a run to ledger and log.
func run(e *proof.Evidence, n, attempt int, from, to time.Time) {
	r := proof.Record{Kind: proof.Start, Job: "job", Tick: tick(n).UnixMilli(), Fence: fence(n, attempt), Attempt: attempt, Try: 1,
		Node: node(n), Pid: n%2 + 1, Seq: int64(len(e.Records) + 1), At: from}
	e.Records = append(e.Records, r)
	e.Lines = append(e.Lines, line("run started", r, `,"late_ms":5`))
	r.Kind, r.At, r.Seq = proof.End, to, r.Seq+1
	e.Records = append(e.Records, r)
	e.Lines = append(e.Lines, line("run finished", r, `,"took_ms":1,"outcome":"ok","err":""`))
}

func line(msg string, r proof.Record, rest string) proof.Line {
	return proof.ParseLine(r.Pid, fmt.Appendf(nil, `{"level":"info","msg":%q,"node":%q,"job":"job","tick":%q,"attempt":%d,"fence":%d%s}`,
		msg, r.Node, r.Instant().Format("2006-01-02T15:04:05.000Z"), r.Attempt, r.Fence, rest), r.At)
}

func TestCheckAcquits(t *testing.T) {
	e := innocent()
	e.Lines = append(e.Lines, passed(3, tick(3, 1)), passed(4, tick(4, 25)))
	for _, v := range proof.Check(e) {
		t.Error(v)
	}
}

// A tick that a drain gave back between two tries, of a job whose ticks are lost with
// their node, runs again: the run itself never saw the end of its context.
func TestCheckAcquitsGivenBack(t *testing.T) {
	e := innocent()
	run(e, 4, 2, tick(4, 2000), tick(4, 3000))
	journal(func(j *series.Journal) {
		j.Lines[4].Outcome = series.OutcomeInterrupted
		again := granted(4)
		again.At, again.Fence, again.Attempt, again.Ended = tick(4, 1999).UnixMilli(), fence(4, 2), 2, tick(4, 3001).UnixMilli()
		j.Lines = append(j.Lines, again)
	})(e)
	if n := proof.Count(proof.Check(e), proof.Twice); n != 0 {
		t.Errorf("%d violations of %q, want none", n, proof.Twice)
	}
}

// A process that was killed during a run may not have written that it started it.
func TestCheckAcquitsKilledLog(t *testing.T) {
	e := innocent()
	e.Lines, e.Records = e.Lines[:6], e.Records[:7]
	e.Faults = []proof.Fault{{Kind: proof.Killed, Pid: 1, From: tick(4, 500)}}
	if n := proof.Count(proof.Check(e), proof.Logs); n != 0 {
		t.Errorf("%d violations of %q, want none", n, proof.Logs)
	}
}

// plants are the violations that each rule must find in otherwise correct evidence.
var plants = map[string]struct {
	rule  proof.Rule
	plant func(*proof.Evidence)
}{
	"an attempt runs on two nodes": {proof.Twice, func(e *proof.Evidence) { run(e, 4, 1, tick(4, 2000), tick(4, 3000)) }},
	"a lost tick runs again":       {proof.Twice, func(e *proof.Evidence) { run(e, 4, 2, tick(4, 2000), tick(4, 3000)) }},
	"a tick is silently absent": {proof.Silent, func(e *proof.Evidence) {
		journal(func(j *series.Journal) {
			j.Lines = append(j.Lines[:3:3], j.Lines[4])
			j.Lines[3].From = tick(2).UnixMilli()
		})(e)
		e.Records = append(e.Records[:4:4], e.Records[6:]...)
	}},
	"no verdict of what ran":    {proof.Unrecorded, journal(func(j *series.Journal) { j.Lines = j.Lines[:4] })},
	"granted and never started": {proof.Unstarted, func(e *proof.Evidence) { e.Records = e.Records[:6] }},
	"nobody knows the end":      {proof.Unended, journal(func(j *series.Journal) { j.Lines[4].Outcome = "" })},
	"missed without a reason": {proof.Forbidden, journal(func(j *series.Journal) {
		j.Lines[4].Verdict, j.Lines[4].Reason, j.Lines[4].Outcome = series.VerdictMissed, series.ReasonDeadline, ""
	})},
	"a fence goes back at the start": {proof.Fences, func(e *proof.Evidence) { e.Records[6].Fence = 1 }},
	"a fence goes back in the grant": {proof.Fences, journal(func(j *series.Journal) { j.Lines[4].Fence = 1 })},
	"too early":                      {proof.Early, func(e *proof.Evidence) { e.Records[6].At = tick(4, -1) }},
	"an instant of no spec": {proof.Strange, func(e *proof.Evidence) {
		e.Records[6].Tick += 500
		e.Records[7].Tick += 500
	}},
	"two runs at once":                     {proof.Overlaps, func(e *proof.Evidence) { e.Records[5].At = tick(4, 500) }},
	"a run without a grant":                {proof.Unclaimed, func(e *proof.Evidence) { e.Records[6].Fence++ }},
	"a run before its grant":               {proof.Unclaimed, journal(func(j *series.Journal) { j.Lines[4].At += 100 })},
	"nobody has it, says a node too early": {proof.Presumed, func(e *proof.Evidence) { e.Lines = append(e.Lines, passed(4, tick(4, 0))) }},
	"nobody ever has it":                   {proof.Presumed, func(e *proof.Evidence) { e.Lines = append(e.Lines, passed(5, tick(6))) }},
	"an old fence writes":                  {proof.Guard, func(e *proof.Evidence) { write(e, 2, 1); write(e, 1, 1) }},
	"two write with one fence":             {proof.Guard, func(e *proof.Evidence) { write(e, 2, 1); write(e, 2, 1); e.Records[9].Pid = 7 }},
	"no line for a start":                  {proof.Logs, func(e *proof.Evidence) { e.Lines = append(e.Lines[:6:6], e.Lines[7]) }},
	"no line for an end":                   {proof.Logs, func(e *proof.Evidence) { e.Lines = e.Lines[:7] }},
	"two lines for one start":              {proof.Logs, func(e *proof.Evidence) { e.Lines = append(e.Lines, e.Lines[6]) }},
	"a line for no start": {proof.Logs, func(e *proof.Evidence) {
		e.Lines = append(e.Lines, line("run started", proof.Record{Tick: 1, Attempt: 1}, ""))
	}},
	"a line with another fence": {proof.Logs, func(e *proof.Evidence) { e.Lines[6].Fields["fence"] = "1" }},
	"a line with another key":   {proof.Logs, func(e *proof.Evidence) { e.Lines[6].Fields["extra"] = "1" }},
	"no log line at all":        {proof.Logs, func(e *proof.Evidence) { e.Lines = append(e.Lines, proof.ParseLine(1, []byte("panic: no"), begun)) }},
	"a process that crashed":    {proof.Crash, func(e *proof.Evidence) { e.Ends[1] = errors.New("exit status 2") }},
	"a journal with a hole":     {proof.Journal, journal(func(j *series.Journal) { j.Lines = append(j.Lines[:2:2], j.Lines[3:]...) })},
}

func TestCheckConvicts(t *testing.T) {
	for name, c := range plants {
		t.Run(name, func(t *testing.T) {
			e := innocent()
			c.plant(e)
			if vs := proof.Check(e); proof.Count(vs, c.rule) == 0 {
				t.Errorf("found %v, want something of %q", vs, c.rule)
			}
		})
	}
}

// journal changes the only journal.
func journal(f func(*series.Journal)) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		j := e.Journals["job"]
		f(&j)
		e.Journals["job"] = j
	}
}

// passed is a line of a node that takes a tick for another's.
func passed(n int, at time.Time) proof.Line {
	return proof.ParseLine(3, fmt.Appendf(nil, `{"level":"debug","msg":"tick passed","node":"n3","job":"job","tick":%q,"winner":"n1"}`,
		tick(n).Format("2006-01-02T15:04:05.000Z")), at)
}

func write(e *proof.Evidence, n, attempt int) {
	e.Records = append(e.Records, proof.Record{Kind: proof.Write, Job: "job", Tick: tick(n).UnixMilli(), Fence: fence(n, attempt), Attempt: attempt,
		Node: node(n), Pid: n%2 + 1, Seq: int64(len(e.Records) + 100), At: tick(5)})
}

// A killed process takes its run with it: that ends the run, and the next attempt
// is measured from then.
func TestTakeovers(t *testing.T) {
	e := innocent()
	e.Jobs[0].Takeover = scheduler.TakeoverRerun
	e.Records = e.Records[:7] // the last run has no end
	e.Faults = []proof.Fault{{Kind: proof.Killed, Pid: 1, From: tick(4, 500)}}
	again := e.Records[6]
	again.Attempt, again.At, again.Pid = 2, tick(4, 3500), 2
	e.Records = append(e.Records, again)
	got := proof.Takeovers(e)
	if len(got) != 1 || got[0].Next.At.Sub(got[0].Fault.From) != 3*time.Second || got[0].Killed.Attempt != 1 {
		t.Errorf("Takeovers = %+v, want one, of attempt 1, after 3s", got)
	}
}
