package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// Two nodes have different specs of a job. status names the job and the command that lists the specs in force.
func TestStatusWhileNodesDisagree(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	for _, spec := range []string{"@every 1h", "@every 2h"} {
		const job = `jobs: [{kind: exec, name: report, spec: %q, exec: {command: ["true"]}}]
http: {address: "off"}
`
		start(t, "node", "--config", file(t, "c.yaml", fmt.Sprintf(job, spec)), "--redis", url)
	}
	const shows = "Nodes disagree on the spec of report: each one claims the ticks of its own. See cronce status jobs show report."
	rig.Eventually(t, "status shows that the nodes disagree", func() bool {
		return strings.Contains(cronce(t, "status", "--redis", url).stdout, shows)
	})
	cronce(t, "status", "jobs", "show", "report", "--redis", url).want(t, exit.Fine, "@every 1h", "@every 2h")
}

// status, its subcommands and runs agree on a cluster: first no node is alive, then all is fine,
// then a tick is overdue, and nothing is known once the store is away.
func TestStatusOfACluster(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 3, 0)
	cl.succeed(t)
	at := "--redis=" + cl.url
	cronce(t, "status", at).want(t, exit.Failed, "No node lives")
	cronce(t, "status", "nodes", at).want(t, exit.Failed)
	if _, err := cl.Driver.Beat(t.Context(), series.Beat{Node: "web-1", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	cronce(t, "status", at).want(t, exit.Fine, "The job is decided, newest verdict", "1 node.")
	cronce(t, "status", "nodes", at, "-o", "name").want(t, exit.Fine, "web-1")
	cronce(t, "status", "nodes", at).want(t, exit.Fine, "STATE  NODE   RUNS  CLOCK OFF  LAST SEEN, UTC\nalive  web-1  0 ")
	if r := cronce(t, "status", "nodes", "--gone", at, "-o", "name"); r.code != exit.Fine || strings.Contains(r.stdout, "web-1") {
		t.Errorf("the nodes that are gone: %d, %s", r.code, r.stdout)
	}
	jobs, wide := cronce(t, "status", "jobs", at), cronce(t, "status", "jobs", at, "-o", "wide")
	jobs.want(t, exit.Fine, "STATE  NAME  SPEC       NEXT ", "\nok     job   @every 1s  in ", "  ok    n")
	wide.want(t, exit.Fine, "LAST  NODE  ZONE  LATE", "  ok    n     UTC   ")
	if strings.Contains(jobs.stdout, "ZONE") {
		t.Errorf("without -o wide: %s", jobs.stdout)
	}
	cronce(t, "status", "jobs", at, "-o", "json").want(t, exit.Fine, `"as_of": "2`, `"items": [`, `"name": "job"`)
	cronce(t, "status", "jobs", "show", at).want(t, exit.WrongUsage, "status jobs show: got 0 arguments, want the name of one job")
	cronce(t, "status", "jobs", "show", "job", at).want(t, exit.Fine, "job: ok\n", "Spec: @every 1s (UTC)\n", "Next: ", "Revision ", "VERDICT")
	cronce(t, "runs", "job", at, "-o", "wide", "--since", "1h").want(t, exit.Fine, "FENCE", "All that was ever recorded")
	cronce(t, "status", "jobs", "j*", at, "-o", "yaml").want(t, exit.Fine, `name: "job"`)
	cronce(t, "status", "jobs", "nothing", at, "-o", "name").want(t, exit.Fine)
	cronce(t, "status", "jobs", "show", "jbo", at).want(t, exit.WrongUsage, `did you mean "job"?`)
	for _, of := range [][]string{{"status", "jobs", "show"}, {"why"}} { // a shell prompt does not wait for a slow store
		words := append(append([]string{"__complete"}, of...), at, "")
		rig.Eventually(t, "the names of jobs are completed", func() bool { return strings.Contains(cronce(t, words...).stdout, "job\n") })
	}

	id := strings.Fields(cronce(t, "runs", at, "-o", "name").stdout)[0]
	cronce(t, "why", id, at).want(t, exit.Fine, "VERDICT")
	_, short, _ := strings.Cut(id, "/")
	cronce(t, "why", short, at).want(t, exit.Fine, "VERDICT")
	cronce(t, "why", "other/"+short, at).want(t, exit.WrongUsage, "other/job")

	cl.server.SetTime(time.Now().Add(time.Minute))
	r := cronce(t, "status", at, "-o", "json")
	r.want(t, exit.Failed, `"state": "overdue"`)
	var st ops.Status
	if err := json.Unmarshal([]byte(r.stdout), &st); err != nil || st.Jobs[ops.Overdue] != 1 {
		t.Errorf("%v: %+v", err, st)
	}
	cronce(t, "status", "jobs", at, "--state", "overdue", "-o", "name").want(t, exit.Fine, "job\n")
	cronce(t, "status", at, "-o", "name").want(t, exit.Failed, "job\n")

	cl.server.Close()
	for _, command := range []string{"status", "status jobs", "runs", "status nodes"} {
		r := cronce(t, append(strings.Fields(command), at)...)
		r.want(t, exit.NotKnown)
		if strings.Contains(r.stdout, "OVERDUE") {
			t.Errorf("%s: %s", command, r.stdout)
		}
	}
}

// The state of a namespace without a job is not known, and not fine.
func TestStatusOfAnEmptyStore(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	for _, command := range []string{"status", "status jobs", "runs"} {
		cronce(t, append(strings.Fields(command), "--redis", url)...).want(t, exit.NotKnown, "no job is on record")
	}
}

// succeed runs one more tick successfully.
func (cl *cluster) succeed(t *testing.T) {
	t.Helper()
	cl.last += 1000
	owner := driver.OwnerPrefix("n") + "last"
	cl.server.SetTime(time.UnixMilli(cl.last))
	claim := series.Claim{Key: "job", Owner: owner, Number: cl.last, After: cl.last - 1000, TTL: 10 * time.Second, Deadline: time.Minute, Attempts: 1, Latest: cl.last + 1000, Revision: cl.revision}
	a := cl.Driver.Claim(t.Context(), []series.Claim{claim})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("%v %v", a.Kind, a.Err)
	}
	end := series.EndRequest{RunRef: series.RunRef{Key: "job", Number: cl.last, Owner: owner, Fence: a.Fence}, Outcome: series.OutcomeOK, OK: true}
	if e := cl.Driver.ReleaseRuns(t.Context(), []series.EndRequest{end})[0]; e.Err != nil {
		t.Fatal(e.Err)
	}
	cl.server.SetTime(time.Now())
}

// A verdict is found however many came after it, and each list reports how far back it has
// searched.
func TestRunsFindsWhatIsOnRecord(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 90, 0)
	key := cl.journalKey(t)
	lines, err := cl.server.List(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.Client.LSet(t.Context(), key, 4, strings.Replace(lines[4], "ok1", "lost", 1)).Err(); err != nil {
		t.Fatal(err)
	}
	at := "--redis=" + cl.url
	for _, of := range [][]string{{"runs"}, {"runs", "job"}} {
		whole := append(of, at, "--verdict", "lost")
		cronce(t, append(whole, "-o", "name")...).want(t, exit.Fine, "job@")
		cronce(t, whole...).want(t, exit.Fine, "lost", "All that was ever recorded was searched.")
		var l struct {
			Items []ops.Run `json:"items"`
			From  time.Time `json:"searched_from"`
		}
		r := cronce(t, append(whole, "-o", "json")...)
		if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || len(l.Items) != 1 || !l.From.IsZero() {
			t.Fatalf("%v: %v: %s", of, err, r.stdout)
		}
		since := l.Items[0].Tick.Time().Format(time.RFC3339) // older than the newest lines
		cronce(t, append(whole, "-o", "name", "--since", since)...).want(t, exit.Fine, "job@")
	}
	cronce(t, "runs", at, "-n", "3").want(t, exit.Fine, "The newest 3 are listed: there may be more. Searched: the verdicts from ")
	cronce(t, "runs", "jib", at, "--watch").want(t, exit.WrongUsage, `did you mean "job"?`)
	cronce(t, "runs", at, "--verdict", "lots").want(t, exit.WrongUsage, `--verdict is "lots"`, "lost")
	for _, flag := range []string{"--since", "--until"} {
		for _, text := range []string{"-1h", "0s", "noon"} {
			cronce(t, "runs", at, flag, text).want(t, exit.WrongUsage, "runs: "+flag+" is \""+text+"\", must be how long ago, more than 0 (1h), RFC 3339 (2026-03-29T01:00:00Z), or a time in UTC")
		}
	}
	cronce(t, "status", "jobs", at, "--state", "lots").want(t, exit.WrongUsage, `--state is "lots"`, "lost")

	if err := cl.Client.LTrim(t.Context(), key, 50, -1).Err(); err != nil {
		t.Fatal(err)
	}
	cronce(t, "runs", at, "--verdict", "lost").want(t, exit.Fine, "Searched: the verdicts from ", " on, and the exceptions from ")
	cronce(t, "runs", at, "-n", "3").want(t, exit.Fine, "Of some jobs older ones were not searched, or are not on record.")

	if err := cl.Client.LPush(t.Context(), key, "x"+strings.Replace(lines[4], "lost", "failed", 1)).Err(); err != nil {
		t.Fatal(err)
	}
	cronce(t, "runs", "job", at, "--verdict", "failed").want(t, exit.Fine, "failed", "Searched: the verdicts from ", " on, and the exceptions from ")
	cronce(t, "runs", "job", at, "--verdict", "failed", "-o", "json").want(t, exit.Fine, `"outcome": "failed"`, `"exceptions_from": `)
}

// Where the output is no terminal, runs --watch prints the newest runs, and then each run that comes,
// once, as a line of JSON that can be shipped.
func TestRunsWatch(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	ended, lines, stop := watch(t, "runs", "--watch", "-n", "2", "--redis", cl.url)
	next := func() (r ops.Run) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the output ends: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Job != "job" {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		return r
	}
	for i := range int64(2) {
		if r := next(); int64(r.Tick) != cl.last-1000*(1-i) {
			t.Errorf("line %d is about %v", i, r.Tick)
		}
	}
	for range 2 {
		cl.succeed(t)
		r := next()
		for ; r.State == ops.Running; r = next() { // its grant was seen before its end
		}
		if int64(r.Tick) != cl.last || r.State != ops.OK {
			t.Errorf("the next line is %+v, want the tick %d", r, cl.last)
		}
	}
	stop()
	for lines.Scan() {
		t.Errorf("one line too many: %s", lines.Text())
	}
	if code := <-ended; code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}

// watch begins a command whose output is no terminal, until stop.
func watch(t *testing.T, args ...string) (ended chan int, lines *bufio.Scanner, stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended = make(chan int, 1)
	go func() {
		ended <- run(ctx, args, strings.NewReader(""), write, io.Discard)
		_ = write.Close()
	}()
	t.Cleanup(stop)
	return ended, bufio.NewScanner(read), stop
}

// With the name of a job, only its runs are watched.
func TestRunsWatchOfAJob(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	opened(t, cl.Store, "other")
	now := cl.Front().ReadSeries(t.Context(), []string{"other"})[0].Mark
	claim := series.Claim{Key: "other", Owner: "n/1", Number: now + 1000, After: now, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
	cl.server.SetTime(time.UnixMilli(now + 1000))
	if a := cl.Front().Claim(t.Context(), []series.Claim{claim})[0]; a.Kind != series.KindGranted {
		t.Fatalf("%+v", a)
	}
	ended, lines, stop := watch(t, "runs", "job", "--watch", "--redis", cl.url)
	for i := range 5 {
		var r ops.Run
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil || r.Job != "job" {
			t.Fatalf("line %d is %s", i, lines.Text())
		}
	}
	stop()
	for lines.Scan() {
		t.Errorf("one line too many: %s", lines.Text())
	}
	if code := <-ended; code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}

// Where the output is no terminal, a list with --watch is a line of JSON, and another at each change. It goes
// on while the store is away.
func TestNodesWatch(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	beat := func(node string) {
		t.Helper()
		if _, err := cl.Driver.Beat(t.Context(), series.Beat{Node: node, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	beat("web-1")
	ended, lines, stop := watch(t, "status", "nodes", "--watch", "--redis", cl.url)
	for n, change := range []func(){func() {}, func() { beat("web-2") }, func() { beat("web-3") }} {
		change()
		var list struct{ Items []ops.NodeView }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &list) != nil || len(list.Items) != n+1 {
			t.Fatalf("of %d nodes it prints %s", n+1, lines.Text())
		}
	}
	cl.server.Close()
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"error":"`) {
		t.Errorf("without a store it prints %s", lines.Text())
	}
	stop()
	for lines.Scan() {
	}
	if code := <-ended; code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
}

// A database that accepts connections and is silent is not known, long before the limit of a command.
func TestStatusOfASilentDatabase(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // its connections are accepted by the kernel, and nothing answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	cronce(t, "status", "--store", "mysql://cronce@"+silent.Addr().String()+"/shop").want(t, exit.NotKnown, "Not known: ")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("status took %v", took)
	}
}

// Jobs with one cause are one line of status; --all has a line for each.
func TestStatusOfManyJobs(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 1, 0)
	for i := range 70 {
		open := series.OpenRequest{Key: fmt.Sprintf("report-%02d", i), Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC"}
		if a := cl.Front().Open(t.Context(), []series.OpenRequest{open})[0]; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	cl.server.SetTime(time.Now().Add(time.Hour))
	lines := func(args ...string) int {
		t.Helper()
		r := cronce(t, append(args, "--redis", cl.url)...)
		r.want(t, exit.Failed, "need a person, of 71 jobs")
		return strings.Count(r.stdout, "\n")
	}
	cronce(t, "status", "--redis", cl.url).want(t, exit.Failed, " jobs, such as ", "cronce status jobs --state overdue")
	if few, all := lines("status"), lines("status", "--all"); few > 10 || all < 71 {
		t.Errorf("status prints %d lines, and %d with --all", few, all)
	}
}
