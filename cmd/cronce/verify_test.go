package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/spec"
)

// A cluster is a store in which a job has decided its ticks.
type cluster struct {
	*clients.Store
	server   *miniredis.Miniredis
	url      string
	schedule *spec.Schedule
	revision string
	last     int64 // the tick that was decided last
}

// newCluster decides n ticks of one second, the last in the past, in a store of
// its own. Each is granted and ended.
func newCluster(t *testing.T, n int, journalLines int) *cluster {
	t.Helper()
	m, url := newRedis(t)
	s := storeAt(t, url, func(c *config.Config) { c.Redis.JournalLines = journalLines })
	schedule, err := spec.Parse("@every 1s", nil)
	if err != nil {
		t.Fatal(err)
	}
	cl := &cluster{Store: s, server: m, url: url, schedule: schedule, revision: schedule.Revision(time.Now())}
	now := time.Now() // the store's clock, however long the decisions take
	began := now.Add(-time.Duration(n+1) * time.Second).Truncate(time.Second)
	m.SetTime(began)
	opened := s.Front().Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n", Revision: cl.revision, Spec: "@every 1s", Zone: "UTC"}})
	if opened[0].Err != nil {
		t.Fatal(opened[0].Err)
	}
	for i := range n {
		m.SetTime(began.Add(time.Duration(i+1) * time.Second))
		cl.last = began.UnixMilli() + int64(i+1)*1000
		cl.decide(t, cl.last, i)
	}
	m.SetTime(now)
	return cl
}

// storeAt returns the store at url, as a command has it, with a setting changed. Tests prepare
// their data with it: it waits a minute for an answer, however busy the machine is.
func storeAt(t *testing.T, url string, set func(*config.Config)) *clients.Store {
	t.Helper()
	c, err := config.Read(config.Source{}, nil, func(c *config.Config) {
		c.Redis.URL = url
		set(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := clients.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	client, err := clients.RedisWith(c, func(o *redis.UniversalOptions) {
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = client
	if s.Driver, err = clients.RedisDriver(c, client); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return s
}

func (cl *cluster) decide(t *testing.T, tick int64, i int) {
	t.Helper()
	a := cl.Front().Claim(t.Context(), []series.Claim{{
		Key: "job", Owner: fmt.Sprintf("n/%d", i), Number: tick, After: tick - 1000, TTL: time.Second, Deadline: time.Second,
		Attempts: 1, Latest: tick + 60_000, Revision: cl.revision,
	}})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("claim %d: %+v", i, a)
	}
	e := cl.Front().ReleaseRuns(t.Context(), []series.EndRequest{{
		RunRef:  series.RunRef{Key: "job", Number: tick, Owner: fmt.Sprintf("n/%d", i), Fence: a.Fence, TTL: time.Second},
		Outcome: fmt.Sprintf("ok%d", i%2), OK: true, // neighbours that differ are not folded into one line
	}})[0]
	if !e.Ended {
		t.Fatalf("end %d: %+v", i, e)
	}
}

// journalKey returns the key of the journal, so that a test can tamper with it.
func (cl *cluster) journalKey(t *testing.T) string {
	t.Helper()
	keys := cl.Client.Keys(t.Context(), "*:j:job").Val()
	if len(keys) != 1 {
		t.Fatalf("journals: %v", keys)
	}
	return keys[0]
}

func TestVerify(t *testing.T) {
	cl := newCluster(t, 20, 0)
	r := cronce(t, "verify", "--redis", cl.url)
	r.want(t, exit.Fine, "JOB", "RAN ONCE", "in order", "20 ticks were due, and each has one verdict.")
	cronce(t, "verify", "--redis", cl.url, "--since", "5s").want(t, exit.Fine, "4 ticks were due")
	cronce(t, "verify", "--redis", cl.url, "--since", "1h", "--job", "job").want(t, exit.Fine, "20 ticks")
	cronce(t, "verify", "--redis", cl.url, "--since", "yesterday").want(t, exit.WrongUsage, `--since is "yesterday", must be a duration such as 1h`)
	cronce(t, "verify", "--redis", cl.url, "--since", "-1h").want(t, exit.WrongUsage, `--since is "-1h"`)
	cronce(t, "verify", "--redis", cl.url, "--job", "jib").want(t, exit.WrongUsage, `job "jib" is not known in namespace "cronce"`, `did you mean "job"?`)
	cronce(t, "verify", "--redis", cl.url, "--namespace", "other").want(t, exit.NotKnown, `verify: no job is on record in namespace "other" of `, "or the store lost its data")
	cronce(t, "verify", "--redis", cl.url, "--namespace", "other", "-o", "json").want(t, exit.NotKnown, `"ok": false`, "no job is on record")
	cronce(t, "doctor", "--redis", cl.url, "--namespace", "other").want(t, exit.Fine, "warn    overdue", "not known: no job is on record")
}

func TestVerifyJSON(t *testing.T) {
	cl := newCluster(t, 3, 0)
	r := cronce(t, "verify", "--redis", cl.url, "-o", "json")
	r.want(t, exit.Fine)
	var p inspect.Proof
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatal(err)
	}
	if !p.OK || len(p.Jobs) != 1 || p.Jobs[0].Once != 3 || p.Namespace != "cronce" || p.Total.Due != 3 {
		t.Errorf("%+v", p)
	}
}

// A job that is younger than the requested time is fine, but verify reports that nothing is known
// of the time before. It does not report this if the proof covers the whole time.
func TestVerifyYoungJob(t *testing.T) {
	cl := newCluster(t, 12, 0)
	const note = "when it was opened; nothing is known before"
	cronce(t, "verify", "--redis", cl.url, "--since", "20h").want(t, exit.Fine, "note: job: proven since 2", note, "12 ticks")
	var p inspect.Proof
	r := cronce(t, "verify", "--redis", cl.url, "--since", "20h", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || len(p.Remarks) != 1 || !strings.Contains(p.Remarks[0], note) {
		t.Errorf("%v: %q", err, p.Remarks)
	}
	for _, args := range [][]string{{"--since", "3s"}, nil} {
		if r := cronce(t, append([]string{"verify", "--redis", cl.url}, args...)...); strings.Contains(r.stdout, "note:") {
			t.Errorf("verify %v: %s", args, r.stdout)
		}
	}
}

// A line that is removed from the journal, written twice, or out of order, breaks an invariant:
// exit code 1, and a line that names it.
func TestVerifyFindsViolations(t *testing.T) {
	for name, tamper := range map[string]func(lines []string) []string{
		"I4": func(lines []string) []string { return slices.Delete(lines, 5, 6) },
		"I1": func(lines []string) []string { return slices.Insert(lines, 6, lines[5]) },
		"I2": func(lines []string) []string {
			f := strings.Split(lines[7], "|")
			f[8] = strings.Split(lines[3], "|")[8]
			lines[7] = strings.Join(f, "|")
			return lines
		},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, 10, 0)
			key := cl.journalKey(t)
			lines := tamper(cl.Client.LRange(t.Context(), key, 0, -1).Val())
			cl.Client.Del(t.Context(), key)
			cl.Client.RPush(t.Context(), key, lines)
			r := cronce(t, "verify", "--redis", cl.url)
			r.want(t, exit.Failed, "BROKEN: ", "job: "+name+" ")
			if r.stderr != "" {
				t.Errorf("the table says it, stderr too: %s", r.stderr)
			}
			cronce(t, "verify", "--redis", cl.url, "-o", "json").want(t, exit.Failed, `"ok": false`, `"invariant": "`+name+`"`)
		})
	}
}

// A journal is bounded. If the request goes back further than the journal, verify names the
// beginning of the proof.
func TestVerifyTooEarly(t *testing.T) {
	cl := newCluster(t, 60, 20)
	r := cronce(t, "verify", "--redis", cl.url, "--since", "55s")
	r.want(t, exit.NotKnown, "the proof begins later: --since ")
	_, since, _ := strings.Cut(strings.TrimSpace(r.stderr), "later: --since ")
	cronce(t, "verify", "--redis", cl.url, "--since", since).want(t, exit.Fine, "each has one verdict")
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Fine)
}

func TestRuns(t *testing.T) {
	cl := newCluster(t, 5, 0)
	r := cronce(t, "runs", "job", "--redis", cl.url)
	r.want(t, exit.Fine, "VERDICT", "ok0")
	if n := strings.Count(r.stdout, "\n"); n != 8 {
		t.Errorf("%d lines, want header, 5 ticks, and two of how far was searched\n%s", n, r.stdout)
	}
	r = cronce(t, "runs", "job", "-n", "2", "--redis", cl.url)
	if n := strings.Count(r.stdout, "\n"); n != 5 {
		t.Errorf("%d lines, want header, 2 ticks, and two of how far was searched\n%s", n, r.stdout)
	}
	cronce(t, "runs", "jab", "--redis", cl.url).want(t, exit.WrongUsage, `did you mean "job"?`)
	var list struct{ Items []ops.Run }
	r = cronce(t, "runs", "job", "-o", "json", "--redis", cl.url)
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list.Items) != 5 || list.Items[4].Outcome != "ok0" {
		t.Errorf("%v: %+v", err, list)
	}
}

// A member of the list of jobs that is no job's name, and keys of another type, are reported by
// job, and the other jobs are proven. None of these counts as fine.
func TestForeignKeysAreReported(t *testing.T) {
	t.Parallel()
	t.Run("in tests", func(t *testing.T) {
		t.Parallel()
		cl := newCluster(t, 10, 0)
		foreignKeys(t, cl.Store, cl.url, "10   10 ")
	})
	t.Run("on a server", func(t *testing.T) {
		t.Parallel()
		url := "redis://" + redisserver.Start(t).Addr()
		s := storeAt(t, url, func(*config.Config) {})
		opened(t, s, "job")
		foreignKeys(t, s, url, "0    0 ")
	})
}

// opened opens a job of every hour.
func opened(t *testing.T, s *clients.Store, job string) {
	t.Helper()
	schedule, err := spec.Parse("@every 1h", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := s.Front().Open(t.Context(), []series.OpenRequest{{Key: job, Node: "n", Revision: schedule.Revision(time.Now()), Spec: "@every 1h", Zone: "UTC"}})[0]
	if a.Err != nil {
		t.Fatal(a.Err)
	}
}

// foreignKeys spoils keys of a store in which the job "job" is sound, with this number of ticks.
func foreignKeys(t *testing.T, cl *clients.Store, url, ticks string) {
	t.Helper()
	for _, name := range []string{"state", "journal", "specs"} {
		opened(t, cl, name)
	}
	const prefix = "cronce:v1:{cronce.0}:"
	for _, key := range []string{"s:state", "j:journal", "d:specs"} {
		if cl.Client.Del(t.Context(), prefix+key).Val() != 1 || cl.Client.Set(t.Context(), prefix+key, "foreign", 0).Err() != nil {
			t.Fatalf("%s is not replaced", key)
		}
	}
	cl.Client.SAdd(t.Context(), prefix+"all", "bad%")
	r, d := cronce(t, "verify", "--redis", url), cronce(t, "doctor", "--redis", url)
	r.want(t, exit.NotKnown, "NOT KNOWN: a part of the store cannot be read. The rest holds.")
	d.want(t, exit.Failed)
	cronce(t, "status", "overdue", "--redis", url).want(t, exit.NotKnown, "NOT KNOWN journal: ", "NOT KNOWN bad%: ")
	for name, fault := range map[string]string{"bad%": "it is listed among the jobs, and has no state", "state": "WRONGTYPE", "journal": "WRONGTYPE", "specs": "WRONGTYPE"} {
		if at := line(r.stdout, name+": NOT KNOWN "); !strings.Contains(at, fault) {
			t.Errorf("verify reports of %s %q, want %s", name, at, fault)
		}
		if row := strings.Fields(line(r.stdout, name+" ")); len(row) != 13 || row[11] != "-" || row[12] != "-" {
			t.Errorf("the row of %s is %q: nothing of it is in order", name, row)
		}
		if !strings.Contains(d.stdout, fmt.Sprintf("not known of job %q: ", name)) {
			t.Errorf("doctor passes over %s: %s", name, d.stdout)
		}
	}
	if row := line(r.stdout, "job "); !strings.Contains(row, ticks) || !strings.Contains(row, "in order") {
		t.Errorf("the row of the other job is %q", row)
	}
}

// Why explains a tick that ran, one that no node has decided, and one in the future, and reports
// that nothing is known while the store does not answer.
func TestWhy(t *testing.T) {
	cl := newCluster(t, 20, 0)
	last := time.UnixMilli(cl.last).UTC().Format("2006-01-02T15:04:05Z")
	cronce(t, "why", "job", last, "--redis", cl.url).want(t, exit.Fine, "job, tick ", "on n as attempt 1, 0s after the tick", "TICK, UTC", "VERDICT", "ran ", "in 0µs")
	cl.server.SetTime(time.Now().Add(2 * time.Minute))
	r := cronce(t, "why", "job", "1m", "--redis", cl.url)
	r.want(t, exit.Failed, ": overdue", "Overdue: it was due 1m", "and no node has decided it: no node lives: n was the last to be seen with this job", "See: cronce status overdue --job job")
	cronce(t, "why", "job", "next", "--redis", cl.url).want(t, exit.Fine, ": future", "Due in ")
	cronce(t, "why", "job", "1h", "--redis", cl.url).want(t, exit.Fine, "Not due: the job was opened at ", "Z, and has no ticks before. If it ran ticks before, the store has lost their records since")
	cronce(t, "why", "cronce/job@next", "--redis", cl.url).want(t, exit.Fine, ": future", "Due in ")
	cronce(t, "why", "job@"+strings.TrimSuffix(last[len("2006-01-02T"):], "Z"), "--redis", cl.url).want(t, exit.Fine, "on n as attempt 1")
	cronce(t, "why", "job@noon", "--redis", cl.url).want(t, exit.WrongUsage, `why: time is "noon", must be RFC 3339`)
	cronce(t, "why", "job", "noon", "--redis", cl.url).want(t, exit.WrongUsage, `why: time is "noon", must be RFC 3339`)
	cronce(t, "why", "jab", "last", "--redis", cl.url).want(t, exit.WrongUsage, `did you mean "job"?`)
	cronce(t, "why", "job", "--redis", cl.url).want(t, exit.WrongUsage, "why: got 1 argument, want the name of one job and a time, or the id of a run: job@time")
	var answer struct {
		State, Sentence string
		Evidence        []map[string]any
	}
	if r = cronce(t, "why", "job", last, "-o", "json", "--redis", cl.url); json.Unmarshal([]byte(r.stdout), &answer) != nil || answer.Sentence == "" || len(answer.Evidence) != 1 {
		t.Errorf("%s", r.stdout)
	}
	cronce(t, "pause", "job", "--reason", "a test", "--who", "ann", "--redis", cl.url).want(t, exit.Fine)
	cronce(t, "why", "job", "1m", "--redis", cl.url).want(t, exit.Fine, "Missed: no node decided it before the job was paused at ", ", by ann.")
	cl.server.SetTime(time.Now().Add(5 * time.Minute))
	cronce(t, "why", "job", "1m", "--redis", cl.url).want(t, exit.Fine, "Paused by ann since ", ": a test.", "See: cronce resume job")
	cl.server.Close()
	cronce(t, "why", "job", "1m", "--redis", cl.url).want(t, exit.NotKnown)
}

// Overdue names the undecided ticks with the cause, and reports nothing once the job is paused.
// While the store does not answer the result is not known, never fine and never overdue.
func TestOverdue(t *testing.T) {
	cl := newCluster(t, 20, 0)
	cronce(t, "status", "overdue", "--redis", cl.url).want(t, exit.Fine, "Nothing is overdue: 1 job, 0 nodes live.")
	cl.server.SetTime(time.Now().Add(2 * time.Minute))
	cronce(t, "status", "overdue", "--redis", cl.url).want(t, exit.Failed, "job: OVERDUE ", "more up to ", "was due and has no verdict", "no node lives")
	cronce(t, "status", "overdue", "--job", "job", "-o", "json", "--redis", cl.url).want(t, exit.Failed, `"ok": false`, `"state": "undecided"`, `"nodes": 0`)
	cronce(t, "status", "overdue", "--job", "jab", "--redis", cl.url).want(t, exit.WrongUsage, `did you mean "job"?`)
	cronce(t, "status", "overdue", "--namespace", "other", "--redis", cl.url).want(t, exit.NotKnown, "overdue: no job is on record")
	cronce(t, "pause", "job", "--reason", "a test", "--redis", cl.url).want(t, exit.Fine)
	cronce(t, "status", "overdue", "-o", "json", "--redis", cl.url).want(t, exit.Fine, `"ok": true`, `"overdue": []`)
	cl.server.Close()
	cronce(t, "status", "overdue", "--redis", cl.url).want(t, exit.NotKnown)
}
