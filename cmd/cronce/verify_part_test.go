package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
)

const keysOf = "cronce:v1:{cronce.0}:"

// The clock of the server was a day ahead when a job was decided, and is right again. Verify names
// the mark, and the ticks since are overdue with the mark as the cause.
func TestVerifyMarkAhead(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 10, 0)
	ahead := time.Now().Add(24 * time.Hour).UnixMilli()
	cl.server.HSet(keysOf+"s:job", "m", strconv.FormatInt(ahead, 10))
	cronce(t, "verify", "--redis", cl.url).want(t, exit.NotKnown, "job: NOT KNOWN the mark names ", "see cronce doctor")
	cl.server.SetTime(time.Now().Add(time.Hour))
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE", "the job is decided until ")
}

// The state of a job is gone, and its journal or its specs are left. The job is listed, named, and
// proven as far as they reach.
func TestVerifyStateGone(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 10, 0)
	cl.server.Del(keysOf + "s:job")
	cronce(t, "verify", "--redis", cl.url, "--job", "job").want(t, exit.NotKnown, "10   10 ", "job: NOT KNOWN it is listed among the jobs, and has no state")
	cronce(t, "why", "job@"+terminal.RFC3339(cl.last), "--redis", cl.url).want(t, exit.Fine, "on n as attempt 1", "The store has no state of the job any more: the store lost it, or it was deleted.")
	cl.server.SetTime(time.Now().Add(time.Hour))
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE", "has no state")
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Failed, `not known of job "job": it is listed among the jobs, and has no state`)
	cl.server.Del(keysOf + "j:job")
	cl.server.Del(keysOf + "d:job")
	cronce(t, "verify", "--redis", cl.url).want(t, exit.NotKnown, "no job is on record")
}

// A job of the configuration that the store does not have is unknown to verify, and a warning of
// doctor, so that doctor can be used before the first node starts.
func TestVerifyNeverOpened(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 10, 0)
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := "jobs:\n  - {name: job, kind: sleep, spec: \"@every 1s\", sleep: {for: 1ms}}\n  - {name: other, kind: sleep, spec: \"@every 1s\", sleep: {for: 1ms}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const fault = "other: NOT KNOWN it is in the configuration, and not on record"
	cronce(t, "verify", "--redis", cl.url, "--config", file).want(t, exit.NotKnown, fault, "10   10 ")
	cronce(t, "verify", "--redis", cl.url, "--config", file, "--job", "other").want(t, exit.NotKnown, fault)
	cronce(t, "verify", "--redis", cl.url, "--config", file, "--job", "job").want(t, exit.Fine, "10 ticks were due")
	cronce(t, "doctor", "--redis", cl.url, "--config", file).want(t, exit.Fine, "warn    overdue", "not on record, though the configuration has them: other", "no tick is overdue")
}

// An unreadable list of nodes is named, and the jobs are still proven.
func TestVerifyWithoutNodes(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 10, 0)
	if err := cl.server.Set(keysOf+"nodes", "x"); err != nil {
		t.Fatal(err)
	}
	r := cronce(t, "verify", "--redis", cl.url)
	r.want(t, exit.NotKnown, "NOT KNOWN which nodes live is not known: ", "of another type", "10   10 ", "NOT KNOWN: a part of the store cannot be read. The rest holds.")
	cl.server.SetTime(time.Now().Add(time.Hour))
	cronce(t, "verify", "--redis", cl.url).want(t, exit.Failed, "OVERDUE", "; which nodes live is not known: n was the last to be seen with this job")
	cronce(t, "doctor", "--redis", cl.url).want(t, exit.Failed, "refuse  nodes", "which nodes live is not known")
}

// The JSON says ok exactly if the exit code is 0.
func TestVerifyOKIsTheExitCode(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 10, 3)
	cronce(t, "verify", "--redis", cl.url, "-o", "json").want(t, exit.Fine, `"ok": true`)
	cronce(t, "verify", "--redis", cl.url, "-o", "json", "--since", "1h").want(t, exit.NotKnown, `"ok": false`)
	cronce(t, "verify", "--redis", cl.url, "--since", "1h").want(t, exit.NotKnown, "NOT KNOWN: older lines of the journal are gone. The rest holds.")
	cronce(t, "verify", "--redis", cl.url, "--namespace", "other", "-o", "json").want(t, exit.NotKnown, `"ok": false`)
	failed := newCluster(t, 3, 0)
	tick := failed.last + 1000
	a := failed.Front().Claim(t.Context(), []series.Claim{{Key: "job", Owner: "n/f", Number: tick, After: tick - 1000, TTL: time.Second,
		Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: failed.revision}})[0]
	e := failed.Front().ReleaseRuns(t.Context(), []series.EndRequest{{
		RunRef: series.RunRef{Key: "job", Number: tick, Owner: "n/f", Fence: a.Fence, TTL: time.Second}, Outcome: series.OutcomeFailed}})[0]
	if a.Kind != series.KindGranted || !e.Ended {
		t.Fatalf("claim %+v, end %+v", a, e)
	}
	cronce(t, "verify", "--redis", failed.url, "-o", "json").want(t, exit.Fine, `"ok": true`)
	cronce(t, "verify", "--redis", failed.url, "-o", "json", "--fail-on", "failed").want(t, exit.Failed, `"ok": false`)
	cronce(t, "verify", "--redis", failed.url, "--fail-on", "failed").want(t, exit.Failed, "FAILED: the last attempt of 1 tick has failed.")
}

// One of two partitions cannot be listed: it is named, and the jobs of the other are proven.
func TestVerifyOfOnePartition(t *testing.T) {
	t.Parallel()
	server, url := newRedis(t)
	s := storeAt(t, url, func(c *config.Config) { c.Redis.Partitions = 2 })
	proven := ""
	for _, job := range []string{"a", "b", "c", "d", "e", "f"} {
		opened(t, s, job)
		if s.Driver.(series.Partitioned).Partition(job) == 0 {
			proven = job
		}
	}
	second := slices.IndexFunc(server.Keys(), func(key string) bool {
		return strings.HasPrefix(key, "cronce:v1:{cronce.1") && strings.HasSuffix(key, "}:all")
	})
	if second < 0 {
		t.Fatalf("no list of the second partition: %v", server.Keys())
	}
	all := server.Keys()[second]
	server.Del(all)
	if err := server.Set(all, "x"); err != nil {
		t.Fatal(err)
	}
	config := file(t, "c.yaml", "redis: {partitions: 2}\n")
	jobs := file(t, "jobs.yaml", "redis: {partitions: 2}\njobs: [{name: never-opened, kind: sleep, spec: '@every 1h'}]\n")
	if r := cronce(t, "verify", "--redis", url, "--config", jobs); r.code != exit.NotKnown || strings.Contains(r.stdout, "never-opened") {
		t.Errorf("a job that may be in the other partition: %d, %s", r.code, r.stdout)
	}
	cronce(t, "verify", "--redis", url, "--config", config).want(t, exit.NotKnown, "NOT KNOWN not all jobs are known: ", "partition 2 of 2", "\n"+proven+" ")
	cronce(t, "verify", "--redis", url, "--config", config, "--job", proven).want(t, exit.Fine, "No tick was due.")
	cronce(t, "doctor", "--redis", url, "--config", config).want(t, exit.Failed, "not all jobs are known: ", "partition 2 of 2")
	cronce(t, "pause", "--redis", url, "--config", config, "--all", "--reason", "test").want(t, exit.NotKnown, "partition 2 of 2")
}
