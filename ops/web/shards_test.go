package web

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
)

// The run of a sharded tick has the counts of its shards in the API, and on the pages. Shards that needed another attempt are marked there.
func TestShards(t *testing.T) {
	pl := newPlane(t, "")
	mark := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark
	tick := (mark/1000 + 1) * 1000
	time.Sleep(time.Until(time.UnixMilli(tick)))
	claim := series.Claim{Key: "report", Owner: "web-1/x", Number: tick, After: mark, TTL: time.Minute, Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r",
		Sharding: &series.Sharding{Shards: 3, Want: []int{0, 1, 2}, Most: 2}}
	a := pl.store.Claim(t.Context(), []series.Claim{claim})[0]
	if len(a.Shards) != 2 {
		t.Fatalf("%+v", a)
	}
	ref := series.RunRef{Key: "report", Number: tick, Owner: claim.Owner, Fence: a.Shards[1].Fence, Shard: 1, Shards: 3}
	if e := pl.store.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: series.OutcomeOK, OK: true}})[0]; !e.Ended {
		t.Fatalf("%+v", e)
	}
	pl.p.Refresh(t.Context())
	viewer := pl.tokens[access.Viewer]
	for _, api := range []string{"/api/v1/jobs/report", "/api/v1/jobs/report/runs", "/api/v1" + tickPath("report", time.UnixMilli(tick))} {
		wants(t, pl.do("GET", api, viewer), 200, `"shards":{"of":3,"ok":1,"running":1,"waiting":1}`)
	}
	for _, page := range []string{"/jobs/report", "/runs"} {
		wants(t, pl.do("GET", page, viewer), 200, "1 of 3 shards ok, 1 running, 1 waiting")
	}
	wants(t, pl.do("GET", tickPath("report", time.UnixMilli(tick)), viewer), 200, "Divided into 3 shards on 1 node: 1 ok, 1 running on web-1, 1 free.")

	ref.Shard, ref.Fence = 0, a.Shards[0].Fence
	pl.store.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, State: series.RunGivenBack}})
	claim.Owner, claim.Attempts, claim.Window, claim.Sharding.Want = "web-2/x", 2, time.Hour, []int{0}
	if a := pl.store.Claim(t.Context(), []series.Claim{claim})[0]; len(a.Shards) != 1 {
		t.Fatalf("%+v", a)
	}
	pl.p.Refresh(t.Context())
	wants(t, pl.do("GET", "/api/v1/runs", viewer), 200, `"shards":{"of":3,"ok":1,"running":1,"waiting":1,"rerun":1}`)
	wants(t, pl.do("GET", "/runs", viewer), 200, `<use href="#m-takeover"/></svg></b> <span class="soft">1 of 3 shards ok, 1 running, 1 waiting, 1 needed another attempt</span>`)
}
