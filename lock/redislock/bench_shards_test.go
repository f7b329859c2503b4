package redislock_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// Ticks of 100 shards on ten nodes: each node claims its ten shards, asks once more and finds none, and ends its shards in one
// request. One iteration is one tick. The server's own time for each kind of request is that of its scripts, while nothing
// else runs.
func BenchmarkShards(b *testing.B) {
	d, c := realDriver(b, redislock.Options{})
	ctx := b.Context()
	d.Open(ctx, []series.OpenRequest{{Key: "job", Node: "bench", Revision: "7d1b6e0c", Spec: "* * * * * *", Zone: "UTC"}})
	t := &shardedTick{B: b, driver: d, client: c, spent: map[string]float64{}}
	for b.Loop() {
		t.run(ctx)
	}
	for what, us := range t.spent {
		b.ReportMetric(us/float64(b.N), what+"-µs/op")
	}
}

type shardedTick struct {
	*testing.B
	driver *redislock.Driver
	client redis.UniversalClient
	owners int
	spent  map[string]float64
}

func (t *shardedTick) claim(ctx context.Context, number int64, node int, want []int) series.Answer {
	t.owners++
	c := series.Claim{Key: "job", Owner: fmt.Sprintf("bench-%d-5f2a91c4/%d", node, t.owners), Number: number, TTL: 30 * time.Second,
		Deadline: time.Minute, Attempts: 3, Window: time.Hour, Latest: driver.MaxNumber, Revision: "7d1b6e0c",
		Sharding: &series.Sharding{Shards: 100, Params: params, Want: want, Most: 10}}
	return t.driver.Claim(ctx, []series.Claim{c})[0]
}

var params = func() (list []string) {
	for i := range 100 {
		list = append(list, "part-"+strconv.Itoa(i))
	}
	return list
}()

func (t *shardedTick) run(ctx context.Context) {
	waitOn(t, t.client, 2*time.Millisecond)
	number := t.client.Time(ctx).Val().UnixMilli()
	var ends [10][]series.EndRequest
	t.count(ctx, "claims", func() {
		for node := range ends {
			var want []int
			for i := node; i < 100; i += 10 {
				want = append(want, i)
			}
			owner := fmt.Sprintf("bench-%d-5f2a91c4/%d", node, t.owners+1)
			a := t.claim(ctx, number, node, want)
			if len(a.Shards) != 10 {
				t.Fatalf("%+v", a)
			}
			for _, g := range a.Shards {
				ends[node] = append(ends[node], series.EndRequest{Outcome: "ok", OK: true, State: series.RunDone, RunRef: series.RunRef{Key: "job", Number: number,
					Owner: owner, Fence: g.Fence, Shard: g.Shard, Shards: 100}})
			}
		}
	})
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	t.count(ctx, "again", func() {
		for node := range ends {
			if a := t.claim(ctx, number, node, all); len(a.Shards) != 0 || a.Free != 0 {
				t.Fatalf("%+v", a)
			}
		}
	})
	t.count(ctx, "ends", func() {
		for _, es := range ends {
			for _, e := range t.driver.ReleaseRuns(ctx, es) {
				if !e.Ended {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// count adds the time that the server spent in scripts.
func (t *shardedTick) count(ctx context.Context, what string, do func()) {
	used := func() float64 {
		m := evalsha.FindStringSubmatch(t.client.Info(ctx, "commandstats").Val())
		if m == nil {
			return 0
		}
		us, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return us
	}
	before := used()
	do()
	t.spent[what] += used() - before
}
