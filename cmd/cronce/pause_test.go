package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// Before a planned stop the jobs are paused, and then all nodes die. No tick is overdue, and verify
// names the pause. When the pause ends with no node alive, later ticks are overdue; the ticks of
// the pause are not.
func TestPlannedStop(t *testing.T) {
	t.Parallel()
	server, url := newRedis(t)
	n := startNode(t, url, everySecond, "--name", "one")
	eventually(t, "a tick has run", func() bool { return strings.Contains(n.stderr.String()+n.stdout.String(), "run finished") })
	cronce(t, "pause", "--all", "--redis", url, "--reason", "the database is moved", "--who", "ann").want(t, exit.Fine, " is paused, by ann, from 2", ": the database is moved; ")
	cronce(t, "pause", "--all", "--redis", url, "--reason", "the same again").want(t, exit.Fine, " is paused already")
	n.signal(os.Kill)
	<-n.gone
	server.SetTime(time.Now().Add(time.Hour))
	r := cronce(t, "verify", "--redis", url)
	r.want(t, exit.Fine, "is paused, so that no tick of it is overdue", "paused")
	cronce(t, "doctor", "--redis", url).want(t, exit.Fine, "no tick is overdue")
	cronce(t, "resume", "--all", "--redis", url).want(t, exit.Fine, " is resumed: its pause ends, by ", "no live node has ")
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
	server.SetTime(time.Now().Add(time.Hour + time.Minute))
	cronce(t, "verify", "--redis", url).want(t, exit.Failed, "OVERDUE", "no node lives")
}

// A job that is in no configuration any more stays overdue, and verify reports that no node has it,
// with the next step; once paused it is no longer overdue.
func TestRemovedJob(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	cl.server.SetTime(time.Now().Add(time.Minute))
	if _, err := cl.Front().Beat(t.Context(), series.Beat{Node: "other", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE", "no node has this job", "cronce retire")
	cronce(t, "pause", "job", "--redis", cl.url, "--reason", "it was removed").want(t, exit.Fine, "job is paused")
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine, "job: is paused")
	retire := []string{"retire", "job", "--redis", cl.url, "--reason", "it was removed", "--who", "ann"}
	for range 2 { // the reply to the first is lost
		cronce(t, append(retire, "--op", "mine")...).want(t, exit.Fine, "job is retired, by ann, from 2", ": it was removed")
	}
	cronce(t, retire...).want(t, exit.Fine, "job is retired already, by ann")
	cronce(t, "pause", "job", "--redis", cl.url, "--reason", "for the night").want(t, exit.Refused, "job is retired, by ann")
	for _, several := range []string{"--all", "j*"} { // leave it out: another job may be meant
		cronce(t, "pause", several, "--redis", cl.url, "--reason", "for the night").want(t, exit.Refused, "all these jobs are retired")
		cronce(t, "resume", several, "--redis", cl.url).want(t, exit.Refused, "all these jobs are retired")
	}
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine, "job: is retired")
	cronce(t, "status", "--redis", cl.url).want(t, exit.Fine, "All 0 jobs decided")
	cronce(t, "status", "jobs", "-o", "name", "--redis", cl.url).want(t, exit.Fine)
	cronce(t, "status", "jobs", "--state", "retired", "-o", "name", "--redis", cl.url).want(t, exit.Fine, "job")
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine, "retire", "ann")
	cronce(t, "resume", "job", "--redis", cl.url).want(t, exit.Refused, "no live node has job, which is retired")
}

// No node is alive for some ticks, and then an operator pauses or retires the job. Those ticks are
// missed, and later ones are paused. The store is a real one, with its own clock.
func TestPauseAfterAnOutage(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	s := storeAt(t, url, func(*config.Config) {})
	schedule, err := spec.Parse("@every 1s", nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []string{"pause", "retire"} // the names of the commands
	revision := schedule.Revision(time.Now())
	var opened int64
	for _, job := range jobs {
		a := s.Front().Open(t.Context(), []series.OpenRequest{{Key: job, Node: "n", Revision: revision, Spec: "@every 1s", Zone: "UTC"}})[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		opened = max(opened, a.Mark)
	}
	eventually(t, "two ticks are due, and nodes had the time to decide them", func() bool {
		now, err := s.Driver.Now(t.Context())
		return err == nil && now[0].Time.UnixMilli() > opened+4000
	})
	for _, job := range jobs {
		r := cronce(t, job, job, "--reason", "all nodes are gone", "--who", "ann", "--redis", url)
		r.want(t, exit.Fine, "d, by ann, from 2", "  recorded as missed: ", ", which no node had decided\n")
		j, err := s.Front().Journal(t.Context(), job, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Lines) != 3 || j.Lines[1].Verdict != series.VerdictMissed || j.Lines[1].Reason != series.ReasonMisfire || j.Lines[2].Verdict != series.VerdictControl {
			t.Fatalf("the journal is %+v", j.Lines)
		}
		l := j.Lines[1]
		n := schedule.Count(l.From, l.To, 1000)
		if n < 2 || l.To > l.At-2000 || l.Node != "" || l.Revision != revision {
			t.Errorf("%d ticks, %+v", n, l)
		}
		r.want(t, exit.Fine, fmt.Sprintf("recorded as missed: %d ticks up to %s", n, time.UnixMilli(l.To).UTC().Format(time.RFC3339)))
		cronce(t, "why", job, time.UnixMilli(l.To).UTC().Format(time.RFC3339), "--redis", url).want(t, exit.Fine, "Missed: no node decided it before the job was "+job, "d at ", ", by ann.")
		cronce(t, "verify", "--job", job, "--redis", url).want(t, exit.Fine)
	}
	cronce(t, "resume", "pause", "--redis", url).want(t, exit.Fine, "pause is resumed: its pause ends, by ")
	cronce(t, "verify", "--job", "pause", "--redis", url).want(t, exit.Fine)
}

// A job is not retired while a live node has it, or while a run of it is alive.
func TestRetireRefused(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, everySecond, "--name", "one")
	eventually(t, "a tick has run", func() bool { return strings.Contains(n.stderr.String()+n.stdout.String(), "run finished") })
	job := strings.TrimSpace(cronce(t, "status", "jobs", "-o", "name", "--redis", url).stdout)
	cronce(t, "retire", job, "--redis", url, "--reason", "it was removed").want(t, exit.Refused, "the node one-", " lives, and has opened it at ", "; if a reload has removed it there, cronce retire works from 20")
	n.signal(os.Interrupt)
	<-n.gone
	cronce(t, "retire", job, "--redis", url, "--reason", "it was removed").want(t, exit.Fine, job+" is retired, by ")
	startNode(t, url, everySecond, "--name", "two")
	eventually(t, "the job is back", func() bool { return cronce(t, "status", "jobs", "-o", "name", "--redis", url).stdout != "" })
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
}

func TestPauseExitCodes(t *testing.T) {
	cl := newCluster(t, 1, 0)
	for _, c := range []struct {
		code int
		args []string
	}{
		{exit.WrongUsage, []string{"pause", "job"}},
		{exit.WrongUsage, []string{"pause", "job", "--reason", "no"}},
		{exit.WrongUsage, []string{"pause", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"pause", "job", "--all", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"pause", "nosuch", "--reason", "for the night"}},
		{exit.WrongUsage, []string{"retire", "--reason", "it was removed"}},
		{exit.WrongUsage, []string{"retire", "job"}},
		{exit.WrongUsage, []string{"retire", "nosuch", "--reason", "it was removed"}},
		{exit.WrongUsage, []string{"resume"}},
		{exit.Fine, []string{"resume", "job"}},
	} {
		cronce(t, append(c.args, "--redis", cl.url)...).want(t, c.code)
	}
	cronce(t, "pause", "job", "--reason", "for the night", "--redis", "redis://127.0.0.1:1").want(t, exit.NotKnown)
	cronce(t, "pause", "job", "--redis", "redis://127.0.0.1:1").want(t, exit.WrongUsage) // the request is checked before the store is read
}

// A pause has a reason, a caller and an end, which the store keeps. A repeated operation is done
// once, and a pause that ends earlier is not extended by accident.
func TestPauseUntil(t *testing.T) {
	cl := newCluster(t, 3, 0)
	now, err := cl.Driver.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until := now[0].Time.Add(10 * time.Minute).UTC().Format(time.RFC3339)
	pause := []string{"pause", "job", "--reason", "gateway maintenance", "--who", "ann@host", "--redis", cl.url}
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "job is paused, by ann@host, from 2", " until "+until+": gateway maintenance; ", " ticks will be recorded as paused; the next that runs is ")
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "job is paused, by ann@host")
	cronce(t, append(pause, "--until", "+8h", "--op", "one")...).want(t, exit.Fine, "job is paused, by ann@host", " until "+until) // as in the first request
	later := now[0].Time.Add(time.Hour).UTC().Format(time.RFC3339)
	cronce(t, append(pause, "--until", later, "--op", "one")...).want(t, exit.Refused, "the operation one was used for another change of job")
	cronce(t, append(pause, "--until", "+1m")...).want(t, exit.Fine, "job is paused already, by ann@host, since 2", " until "+until+": gateway maintenance")
	cronce(t, append(pause, "--until", "+1h")...).want(t, exit.Refused, "is paused already", "--replace")
	cronce(t, append(pause, "--until", "+1h", "--replace")...).want(t, exit.Fine, "job is paused, by ann@host")
	cronce(t, append(pause, "--until", until, "--op", "one")...).want(t, exit.Fine, "the operation one was done before, as change 1; since then pause by ann@host")
	cronce(t, append(pause, "--until", "yesterday")...).want(t, exit.WrongUsage, "--until")
	cronce(t, append(pause, "--until", "-1h")...).want(t, exit.WrongUsage, `--until is "-1h", must be RFC 3339`)
	cronce(t, append(pause, "--until", "+9999999h")...).want(t, exit.WrongUsage, "how long from now (+8h), up to 2562047h")
	cronce(t, append(pause, "--until", "2020-01-01")...).want(t, exit.WrongUsage, "must be to come")
	cronce(t, "why", "job", "next", "--redis", cl.url).want(t, exit.Fine, "Due in ", "Paused by ann@host since ", ": gateway maintenance. Unless the job is resumed before")
	cronce(t, "resume", "job", "--reason", "it is back", "--who", "bob", "--redis", cl.url).want(t, exit.Fine, "job is resumed: its pause ends, by bob, at 2", ": it is back", "the next that runs is ")
	if r := cronce(t, "resume", "job", "--redis", cl.url); r.code != exit.Fine || r.stdout != "job is not paused\n" {
		t.Errorf("a second resume ends with %d, and prints %q", r.code, r.stdout)
	}
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine, "ann@host  pause", "running", "paused until "+until, "gateway maintenance", "bob")
	r := cronce(t, "audit", "--job", "job", "-o", "json", "--redis", cl.url)
	r.want(t, exit.Fine, `"number": 3`, `"after": "paused until `+until+`"`, `"action": "resume"`, `"who": "bob"`, `"op": "one"`)
	if strings.Count(r.stdout, `"number"`) != 3 {
		t.Errorf("the audit is %s", r.stdout)
	}
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine)
}

// The reply to a request is lost, and the request is repeated with the operation that the command
// printed. It is done once, with the end on which it was decided. If a colleague has changed the
// job since, a request that never arrived changes nothing.
func TestPauseIsRepeated(t *testing.T) {
	cl := newCluster(t, 3, 0)
	run := func(args ...string) result { return cronce(t, append(args, "--redis", cl.url)...) }
	ann := []string{"pause", "job", "--reason", "gateway is moved", "--who", "ann", "--until", "+8h"}
	op := func(seen int, until time.Time) []string {
		return []string{"--op", fmt.Sprintf("RANDOM.%d.%d", seen, until.UnixMilli())}
	}
	now, err := cl.Driver.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until := now[0].Time.Add(7 * time.Hour).Truncate(time.Second).UTC()
	stands := " until " + until.Format(time.RFC3339)
	for range 2 { // first the request was lost on its way, and then its reply
		run(append(ann, op(0, until)...)...).want(t, exit.Fine, "job is paused, by ann", stands)
	}
	run("resume", "job", "--who", "bob", "--reason", "it is back").want(t, exit.Fine, "by bob")
	run(append(ann, op(0, until)...)...).want(t, exit.Fine, "was done before, as change 1; since then resume by bob")
	run(append(ann, "--op", "OTHER.1.0")...).want(t, exit.Refused, "another change came first, resume by bob")
	run("pause", "job", "--reason", "database is restored, do not start", "--who", "bob").want(t, exit.Fine)
	run(append(ann, "--op", "LOST")...).want(t, exit.Refused, "is paused already, by bob", "the operation LOST was not done")
	run("resume", "job", "--who", "ann", "--op", "OTHER.1.0").want(t, exit.Refused, "another change came first, pause by bob")
	run("pause", "--all", "--reason", "for the night", "--op", "OTHER.1.0").want(t, exit.WrongUsage, "name the job in place of --all")
	run("why", "job", "next").want(t, exit.Fine, "Paused by bob since ")
}

// A replica is attached and does not answer, so it is not known whether it would be promoted with
// the pause. The operation that each command prints stands for its whole request: a cancel has its run.
func TestPauseOfALaggingReplica(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica := redisserver.Start(t, "--replicaof", host, port)
	url := "redis://" + master.Addr()
	s := storeAt(t, url, func(*config.Config) {})
	opened(t, s, "job")
	eventually(t, "the replica follows", func() bool {
		n, err := s.Driver.(driver.Replicated).Replicas(t.Context(), "job")
		return err == nil && n == 1
	})
	number := s.Front().ReadSeries(t.Context(), []string{"job"})[0].Mark + 1
	eventually(t, "a run is alive", func() bool {
		claim := series.Claim{Key: "job", Owner: "n/x", Number: number, TTL: 24 * time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
		return s.Front().Claim(t.Context(), []series.Claim{claim})[0].Kind == series.KindGranted
	})
	cronce(t, "pause", "job", "--reason", "for the night", "--redis", url).want(t, exit.Fine)
	replica.Freeze()
	resume := []string{"resume", "job", "--redis", url}
	cancel := []string{"cancel", "job", "--reason", "it hangs", "--redis", url}
	resumed, cancelled := cronce(t, resume...), cronce(t, cancel...)
	replica.Thaw()
	resumed.want(t, exit.NotKnown, "whether the resume of job was done is not known", ".1.0: ")
	cancelled.want(t, exit.NotKnown, "whether the cancel of job was done is not known", fmt.Sprintf(".2.%d: ", number))
	op := func(r result) string {
		_, op, _ := strings.Cut(r.stderr, "with --op ")
		op, _, _ = strings.Cut(op, ":")
		return op
	}
	cronce(t, append(cancel, "--op", op(cancelled))...).want(t, exit.Fine, "is cancelled, by ")
	cronce(t, append(resume, "--op", op(resumed))...).want(t, exit.Fine, "was done before, as change 2; since then cancel by ")
}

// A job is paused for a while, all nodes are killed in the pause, and new ones start after its end. The
// ticks up to the end are paused, a later one runs, and no operator has resumed the job.
func TestPauseEndsWithAllNodesDead(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	url := "redis://" + s.Addr()
	var nodes []*child
	for _, name := range []string{"one", "two", "three"} {
		nodes = append(nodes, startNode(t, url, everySecond, "--name", name))
	}
	finished := func(nodes []*child) func() bool {
		return func() bool {
			return slices.ContainsFunc(nodes, func(n *child) bool { return strings.Contains(n.stderr.String()+n.stdout.String(), "run finished") })
		}
	}
	eventually(t, "a tick has run", finished(nodes))
	until := time.Now().Add(4 * time.Second).UTC()
	cronce(t, "pause", "a", "--reason", "the database is moved", "--until", until.Format(time.RFC3339Nano), "--redis", url).want(t, exit.Fine, "a is paused, by ")
	for _, n := range nodes {
		n.signal(os.Kill)
		<-n.gone
	}
	eventually(t, "the pause is over, and two more ticks are due", func() bool { return time.Now().After(until.Add(2 * time.Second)) })
	again := []*child{startNode(t, url, everySecond, "--name", "four"), startNode(t, url, everySecond, "--name", "five")}
	eventually(t, "a later tick has run", finished(again))
	var list struct {
		Items []struct {
			Verdict string
			Tick    time.Time
		}
	}
	r := cronce(t, "runs", "a", "-o", "json", "--redis", url)
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatal(err)
	}
	paused := false
	for _, l := range slices.Backward(list.Items) {
		switch {
		case l.Verdict == "paused":
			paused = true
			if l.Tick.After(until) {
				t.Errorf("the tick %v is paused, the pause was until %v", l.Tick, until)
			}
		case paused && l.Verdict == "ran" && !l.Tick.After(until):
			t.Errorf("the tick %v ran, the pause was until %v", l.Tick, until)
		}
	}
	if !paused {
		t.Errorf("no tick is paused: %s", r.stdout)
	}
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
	audit := cronce(t, "audit", "-o", "json", "--redis", url)
	if strings.Count(audit.stdout, `"number"`) != 1 {
		t.Errorf("the audit is %s", audit.stdout)
	}
}

// A pattern names several jobs. A script changes them at once; on a terminal the command lists them
// first, and does nothing unless the answer is yes.
func TestPauseSeveral(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	for _, job := range []string{"report.day", "report.week"} {
		if a := cl.Front().Open(t.Context(), []series.OpenRequest{{Key: job, Node: "n", Revision: "r", Spec: "@daily", Zone: "UTC"}})[0]; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	paused := func(want ...bool) {
		t.Helper()
		for i, is := range cl.Front().ReadSeries(t.Context(), []string{"report.day", "report.week", "job"}) {
			if is.Paused != want[i] {
				t.Errorf("%s is paused: %v, want %v", is.Key, is.Paused, want[i])
			}
		}
	}
	terminal := func(answer string, args ...string) string {
		t.Helper()
		c := exec.Command("script", "-qec", strings.Join(append([]string{os.Args[0]}, args...), " "), "/dev/null")
		c.Env = append(os.Environ(), actAsMain+"=1")
		c.Stdin = strings.NewReader(answer)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	pause := []string{"pause", "'report.*'", "--reason", "moved", "--redis", cl.url}
	if out := terminal("n\n", pause...); !strings.Contains(out, "report.day, report.week\r\nPause 2 jobs? [y/N]") || !strings.Contains(out, "Nothing was done.") {
		t.Errorf("the terminal shows %q", out)
	}
	paused(false, false, false)
	if out := terminal("y\n", pause...); !strings.Contains(out, "report.week is paused, by ") {
		t.Errorf("the terminal shows %q", out)
	}
	paused(true, true, false)
	if out := terminal("", "resume", "--all", "--yes", "--redis", cl.url); strings.Contains(out, "[y/N]") {
		t.Errorf("the terminal shows %q", out)
	}
	paused(false, false, false)
	for _, elsewhere := range []string{"</dev/null", ">/dev/null"} { // nobody can answer, or read the question
		if out := terminal("", append(pause, elsewhere)...); strings.Contains(out, "[y/N]") {
			t.Errorf("with %s the terminal shows %q", elsewhere, out)
		}
		paused(true, true, false)
		cronce(t, "resume", "report.*", "--redis", cl.url).want(t, exit.Fine)
	}
	cronce(t, "pause", "report.?ay", "--reason", "moved", "--redis", cl.url).want(t, exit.Fine, "report.day is paused")
	paused(true, false, false)
	cronce(t, "pause", "report.[wd]*", "--reason", "moved", "--op", "x.1.0", "--redis", cl.url).want(t, exit.WrongUsage, "an operation on one job")
	cronce(t, "pause", "none.*", "--reason", "moved", "--redis", cl.url).want(t, exit.WrongUsage, `no job of namespace "cronce" matches "none.*"`)
	cronce(t, "pause", "report.[", "--reason", "moved", "--redis", cl.url).want(t, exit.WrongUsage, `"report.[" is no pattern`)
	cronce(t, "retire", "report.*", "--reason", "moved", "--redis", cl.url).want(t, exit.WrongUsage, "is not known in namespace")
	paused(true, false, false)
}
