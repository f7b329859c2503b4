package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// newSQLite returns a new store in a file, and the flag that names it.
func newSQLite(t *testing.T) (s *clients.Store, flag string) {
	t.Helper()
	flag = "--store=sqlite:" + filepath.Join(t.TempDir(), "cronce.db")
	cronce(t, "migrate", flag).want(t, exit.Fine)
	c, err := config.Read(config.Source{}, nil, func(c *config.Config) { c.Store = flag[len("--store="):] })
	if err != nil {
		t.Fatal(err)
	}
	if s, err = clients.NewStore(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, flag
}

// A sharded tick is listed with its shards while it goes on, and when it has ended.
func TestShardsOfATick(t *testing.T) {
	t.Parallel()
	s, at := newSQLite(t)
	tick := time.Now().Add(-time.Minute).Truncate(time.Minute)
	ms := tick.UnixMilli()
	for _, job := range []string{"rows", "plain"} {
		if o := s.Front().Open(t.Context(), []series.OpenRequest{{Key: job, Node: "a", Revision: "r", Spec: "* * * * *", Zone: "UTC", Begin: ms - 1}})[0]; o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	claim := series.Claim{Key: "plain", Owner: "a/1", Number: ms, After: ms - 1, TTL: time.Minute, Deadline: time.Hour, Attempts: 1, Latest: ms + time.Hour.Milliseconds(), Revision: "r"}
	sharded := claim
	sharded.Key, sharded.Sharding = "rows", &series.Sharding{Shards: 4, Params: []string{"north", "south"}, Want: []int{0, 1, 2}, Most: 4}
	answers := s.Front().Claim(t.Context(), []series.Claim{claim, sharded})
	if answers[0].Kind != series.KindGranted || len(answers[1].Shards) != 3 {
		t.Fatalf("%+v", answers)
	}
	sharded.Owner, sharded.Sharding.Want = "b/1", []int{3}
	last := s.Front().Claim(t.Context(), []series.Claim{sharded})[0]
	end := func(owner string, h series.ShardGrant, outcome string) {
		t.Helper()
		ref := series.RunRef{Key: "rows", Number: ms, Owner: owner, Fence: h.Fence, Shard: h.Shard, Shards: 4}
		failed := outcome != series.OutcomeOK
		if a := s.Front().ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: outcome, OK: !failed, Error: "why " + outcome}})[0]; !a.Ended {
			t.Fatalf("%+v", a)
		}
		if err := s.Front().KeepOutput(t.Context(), series.Output{Key: "rows", Number: ms, Fence: h.Fence, Failed: failed, Text: "printed by " + owner}); err != nil {
			t.Fatal(err)
		}
	}
	shards := append(answers[1].Shards, last.Shards...)
	end("a/1", shards[0], series.OutcomeOK)
	end("a/1", shards[1], series.OutcomeFailed)
	name := "rows@" + tick.UTC().Format(time.RFC3339)
	cronce(t, "runs", name, at).want(t, exit.Fine, name[:4]+", tick "+name[5:]+": running, 1 of 4 shards ok, 1 failed, 2 running", "SHARD  VERDICT  NODE  ATTEMPT", "PARAM", "0      ok       a     1 ", "3      running  b     1 ", "south")
	cronce(t, "why", name, at).want(t, exit.Fine, "Divided into 4 shards on 2 nodes: 1 ok, 1 failed (1 on a: why failed), 2 running on a and b.", "Output of shard 1 on a, failed:", "printed by a/1")

	end("a/1", shards[2], series.OutcomeOK)
	end("b/1", shards[3], series.OutcomeTimeout)
	cronce(t, "runs", "cronce/"+name, at, "-o", "wide").want(t, exit.Fine, ": failed, 2 of 4 shards ok, 2 failed", "ERROR", "why timeout", "FENCE", "3      timeout  b     1 ", fmt.Sprint(shards[3].Fence))
	cronce(t, "runs", "rows@"+tick.UTC().Format("15:04"), at, "-o", "name").want(t, exit.Fine, "cronce/rows@")
	cronce(t, "runs", "cronce/"+name+"#3", at).want(t, exit.Fine, "2 of 4 shards ok, 2 failed")
	cronce(t, "why", name+"#3", at).want(t, exit.Fine, "1 timeout (3 on b: why timeout)")
	cronce(t, "cancel", name+"#3", "--reason", "enough", at).want(t, exit.WrongUsage, `is a shard, and a cancel ends all shards of a tick: give `+name)
	cronce(t, "runs", name+"#x", at).want(t, exit.WrongUsage, `Z#x", must be RFC 3339`)
	cronce(t, "runs", "rows", at).want(t, exit.Fine, "REMARK", "2 of 4 shards ok, 2 failed; shard 1: why failed", "No live node has this job, of 0 nodes: ")
	cronce(t, "why", name, at).want(t, exit.Fine, "Divided into 4 shards on 2 nodes: 2 ok, 1 failed (1 on a: why failed), 1 timeout (3 on b: why timeout).", "Output of shard 3 on b, timeout:", "printed by b/1", "See: cronce runs "+name)
	cronce(t, "runs", "plain"+name[4:], at).want(t, exit.Fine, "REMARK", "running")
	cronce(t, "runs", "@last", at).want(t, exit.WrongUsage, `runs: "@last" has no job, must be JOB@TICK`)
	cronce(t, "runs", "rows@noon", at).want(t, exit.WrongUsage, `runs: time is "noon", must be RFC 3339`)
	later := tick.Add(time.Hour).UTC()
	between := "rows@" + later.Add(30*time.Second).Format(time.RFC3339)
	for _, flags := range [][]string{nil, {"--watch"}} {
		args := append([]string{"runs", between, at}, flags...)
		cronce(t, args...).want(t, exit.WrongUsage, "runs: time is \""+between[5:]+"\", must be a tick of the job", "The nearest: ", later.Format("2006-01-02 15:04:05 -07:00"))
	}
	cronce(t, "runs", name, at, "--since", "1h").want(t, exit.WrongUsage, "names one tick: leave out --since and --until")
	cronce(t, "runs", "row"+name[4:], at).want(t, exit.WrongUsage, `did you mean "rows"?`)
	var l struct {
		Items  []ops.Run      `json:"items"`
		Shards []ops.ShardRun `json:"shards"`
	}
	r := cronce(t, "runs", name, at, "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || len(l.Items) != 1 || *l.Items[0].Shards != (ops.ShardCount{Of: 4, OK: 2, Failed: 2}) ||
		len(l.Shards) != 4 || l.Shards[3].Verdict != series.OutcomeTimeout || l.Shards[3].Fence != shards[3].Fence || l.Shards[3].LateMs == nil || l.Shards[3].TookMs == nil {
		t.Errorf("%v: %s", err, r.stdout)
	}
}

// An instant between two ticks is refused also if they are older than the lines that a listing reads first.
func TestRunsOfNoTickLongAgo(t *testing.T) {
	t.Parallel()
	s, at := newSQLite(t)
	const ticks = 100
	first := time.Now().Add(-ticks * time.Minute).Truncate(time.Minute)
	if o := s.Front().Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "a", Revision: "r", Spec: "* * * * *", Zone: "UTC", Begin: first.UnixMilli() - 1}})[0]; o.Err != nil {
		t.Fatal(o.Err)
	}
	after := first.UnixMilli() - 1
	for n := range ticks {
		tick := first.Add(time.Duration(n) * time.Minute).UnixMilli()
		claim := series.Claim{Key: "report", Owner: "a/1", Number: tick, After: after, TTL: time.Minute, Deadline: 24 * time.Hour, Attempts: 1, Latest: tick + 24*time.Hour.Milliseconds(), Revision: "r"}
		a := s.Front().Claim(t.Context(), []series.Claim{claim})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("%+v", a)
		}
		ref := series.RunRef{Key: "report", Number: tick, Owner: "a/1", Fence: a.Fence}
		if e := s.Front().ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: series.OutcomeOK, OK: true}})[0]; !e.Ended {
			t.Fatalf("%+v", e)
		}
		after = tick
	}
	cronce(t, "runs", "report@"+first.Add(time.Minute).UTC().Format(time.RFC3339), at).want(t, exit.Fine, "report  ok ")
	between := first.Add(90 * time.Second).UTC().Format(time.RFC3339)
	for _, flags := range [][]string{nil, {"--watch"}} {
		cronce(t, append([]string{"runs", "report@" + between, at}, flags...)...).want(t, exit.WrongUsage, "must be a tick of the job", "Not due: ")
	}
}
