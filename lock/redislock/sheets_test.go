package redislock_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const sheetKey = "cronce:v1:{cronce.0}:t:job"

// A sheetPair is a series in Redis and in memory, under one clock that is moved by hand: each answer, state
// and journal must be the same in both.
type sheetPair struct {
	*testing.T
	server *clocked
	client redis.UniversalClient
	redis  *redislock.Driver
	memory *memlock.Store
	start  int64 // Unix ms
	ops    string
}

func newSheetPair(t *testing.T) *sheetPair {
	s := simulated(t)
	c := client(t, s.Addr(), patiently)
	w := &sheetPair{T: t, server: s, client: c, redis: newDriver(t, c, redislock.Options{}),
		memory: memlock.New(memlock.Options{Now: s.time}), start: s.time().UnixMilli()}
	same(w, func(d series.Numbered) series.Series {
		return d.Open(context.Background(), []series.OpenRequest{{Key: "job", Node: "a"}})[0]
	})
	s.wait(time.Second)
	return w
}

// same sends a request to both, compares their answers and the two series after it, and returns the answer.
func same[A any](w *sheetPair, ask func(series.Numbered) A) A {
	w.Helper()
	got, want := ask(w.redis), ask(w.memory)
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("redis answers %+v, want %+v", got, want)
	}
	read := func(d series.Numbered) series.Series { return d.ReadSeries(context.Background(), []string{"job"})[0] }
	if got, want := read(w.redis), read(w.memory); !reflect.DeepEqual(got, want) {
		w.Fatalf("redis keeps %+v, want %+v", got, want)
	}
	lines := func(d series.Journaled) []series.Line {
		j, err := d.Journal(context.Background(), "job", 0)
		must(w, err)
		return j.Lines
	}
	if got, want := lines(w.redis), lines(w.memory); !reflect.DeepEqual(got, want) {
		w.Fatalf("redis has the journal %+v, want %+v", got, want)
	}
	return want
}

// claim claims the number that is after ms after the opening, and all shards of three at most.
func (w *sheetPair) claim(owner string, after int64, most int, change ...func(*series.Claim)) series.Answer {
	w.Helper()
	c := series.Claim{Key: "job", Owner: owner, Number: w.start + after, TTL: time.Second, Deadline: time.Hour, Attempts: 2, Rerun: true,
		Window: time.Minute, Latest: driver.MaxNumber,
		Sharding: &series.Sharding{Shards: 3, Params: []string{"p|;,+#*%", "", "é"}, Want: []int{2, 0, 1}, Most: most}}
	for _, f := range change {
		f(&c)
	}
	return same(w, func(d series.Numbered) series.Answer { return d.Claim(context.Background(), []series.Claim{c})[0] })
}

func (w *sheetPair) end(owner string, a series.Answer, i int, state series.RunState, outcome string) series.EndAnswer {
	w.Helper()
	g := a.Shards[i]
	e := series.EndRequest{State: state, Outcome: outcome, OK: outcome == series.OutcomeOK, Error: outcome + " p|;,+#*%é",
		RunRef: series.RunRef{Key: "job", Number: a.Number, Owner: owner, Fence: g.Fence, TTL: time.Second, Shard: g.Shard, Shards: a.Of}}
	same(w, func(d series.Numbered) series.RenewAnswer {
		return d.RenewRuns(context.Background(), []series.RunRef{e.RunRef})[0]
	})
	return same(w, func(d series.Numbered) series.EndAnswer {
		return d.ReleaseRuns(context.Background(), []series.EndRequest{e})[0]
	})
}

func (w *sheetPair) control(c series.Control) {
	w.Helper()
	w.ops += "x"
	c.Key, c.Op, c.Who, c.Reason, c.Seen = "job", w.ops, "op", "for the test", series.AnySeen
	same(w, func(d series.Numbered) series.ControlAnswer {
		return d.(series.Controlled).Control(context.Background(), c)
	})
}

func (w *sheetPair) kept() bool { return w.client.Exists(w.Context(), sheetKey).Val() == 1 }

func (w *sheetPair) want(right bool, what string, got any) {
	w.Helper()
	if !right {
		w.Errorf("want %s, got %+v", what, got)
	}
}

// Histories of sharded numbers are answered and kept as in memory, whose rules the search of sheets holds to the
// invariants.
func TestSheets(t *testing.T) {
	t.Parallel()
	for name, history := range map[string]func(w *sheetPair){
		"shared, and summed by the last end": func(w *sheetPair) {
			a := w.claim("a b/1", 1, 2)
			b := w.claim("b/1", 1, 2)
			w.want(len(a.Shards) == 2 && len(b.Shards) == 1 && a.Shards[1].Param == "é", "two shards and one", a.Shards)
			w.want(w.claim("a b/1", 1, 2).Fence == a.Fence, "the same answer again", a)
			w.end("a b/1", a, 0, series.RunDone, series.OutcomeOK)
			w.end("b/1", b, 0, series.RunDone, "")
			e := w.end("a b/1", a, 1, series.RunDone, series.OutcomeOK)
			w.want(e.Sum != nil && e.Sum.OK == 2 && e.Sum.Failed == 1, "the sum", e.Sum)
			w.end("a b/1", a, 1, series.RunDone, series.OutcomeOK)
			w.want(w.kept(), "the sheet as long as the run", "none")
			w.claim("a/2", 2, 0, func(c *series.Claim) { c.Sharding = nil })
			w.want(!w.kept(), "no sheet without its run", "one")
		},
		"taken over, and summed by a sweep": func(w *sheetPair) {
			a := w.claim("a/1", 1, 3)
			w.end("a/1", a, 2, series.RunGivenBack, "")
			w.server.wait(2 * time.Second)
			w.claim("b/1", 2, 3)
			b := w.claim("b/1", 1, 3)
			w.want(len(b.Shards) == 3 && b.Shards[0].Attempt == 2, "three second attempts", b.Shards)
			w.server.wait(2 * time.Second)
			c := w.claim("c/1", 2, 3)
			w.want(c.Sum != nil && c.Sum.Outcome == series.OutcomeLost && c.Kind == series.KindGranted, "the sum, and the next number", c)
		},
		"given back, and taken by two": func(w *sheetPair) {
			a := w.claim("a/1", 1, 3)
			w.want(w.claim("b/1", 1, 3).Free == 0, "no shard that may start", a)
			w.end("a/1", a, 0, series.RunGivenBack, "")
			w.end("a/1", a, 1, series.RunUnstarted, "")
			b := w.claim("b/2", 1, 1)
			c := w.claim("c/1", 1, 1)
			w.want(len(b.Shards) == 1 && len(c.Shards) == 1 && c.Free == 0, "a shard each", c)
		},
		"cancelled": func(w *sheetPair) {
			a := w.claim("a/1", 1, 1)
			w.control(series.Control{Action: series.ActionCancel, Number: a.Number})
			w.want(w.claim("a/1", 1, 1).Kind == series.KindOver, "no start", a)
			e := w.end("a/1", a, 0, series.RunGivenBack, "")
			w.want(e.Sum != nil && e.Sum.Outcome == series.OutcomeCancelled && e.Sum.Cancelled == 3, "a cancelled sum", e.Sum)
		},
		"paused and resumed": func(w *sheetPair) {
			a := w.claim("a/1", 1, 1)
			w.control(series.Control{Action: series.ActionPause})
			w.claim("b/1", 1, 1)
			w.control(series.Control{Action: series.ActionResume})
			e := w.end("a/1", a, 0, series.RunDone, series.OutcomeOK)
			w.want(e.Sum != nil && e.Sum.Missed == 2, "a sum with what was paused", e.Sum)
			w.control(series.Control{Action: series.ActionRetire})
			w.want(!w.kept(), "no sheet of a retired series", "one")
		},
		"another layout, and no layout": func(w *sheetPair) {
			w.claim("a/1", 1, 1)
			b := w.claim("b/1", 1, 3, func(c *series.Claim) {
				c.Sharding = &series.Sharding{Shards: 5, Want: []int{4, 3, 0}, Most: 5}
			})
			w.want(b.Of == 3 && len(b.Shards) == 1, "the layout of the opening", b)
			w.claim("c/1", 1, 0, func(c *series.Claim) { c.Sharding = nil })
			w.server.wait(2 * time.Second)
			o := w.claim("c/1", 2, 0, func(c *series.Claim) { c.Sharding = nil })
			w.want(o.Kind == series.KindOrphan && o.Free == 3, "an orphan with shards", o)
		},
		"queued behind a sheet": func(w *sheetPair) {
			queued := func(c *series.Claim) { c.Overlap, c.Sharding.Want = series.OverlapQueue, []int{0, 1, 2} }
			a := w.claim("a/1", 1, 3)
			q := w.claim("b/1", 2, 3, queued)
			w.want(q.Kind == series.KindWaiting, "a number that waits", q)
			w.end("a/1", a, 0, series.RunDone, series.OutcomeOK)
			w.end("a/1", a, 1, series.RunUnstarted, "")
			w.end("a/1", a, 2, series.RunDone, series.OutcomeOK)
			last := w.claim("c/1", 1, 1)
			e := w.end("c/1", last, 0, series.RunDone, series.OutcomeOK)
			w.want(e.Waiting == q.Number && e.Sum != nil, "the number that waited", e)
			b := w.claim("b/2", 2, 1, queued, func(c *series.Claim) { c.From = e.Fence })
			w.want(b.Kind == series.KindGranted && b.Free == 2, "its sheet in place of the first", b)
			w.end("a/1", a, 0, series.RunDone, series.OutcomeOK)
		},
		"a backfill goes on after a sum by a claim": func(w *sheetPair) {
			w.claim("a/1", 1, 1, func(c *series.Claim) { c.Deadline = 0 })
			w.control(series.Control{Action: series.ActionBackfill, Numbers: []int64{1000, 2000}})
			r := w.redis.ReadSeries(w.Context(), []string{"job"})[0].Runs
			first := r[len(r)-1]
			w.claim("a/2", first.Number-w.start, 3, func(c *series.Claim) { c.From, c.Attempts = first.Fence, 1 })
			w.server.wait(2 * time.Second)
			a := w.claim("b/2", first.Number-w.start, 3, func(c *series.Claim) { c.Attempts = 1 })
			w.want(a.Sum != nil && a.Sum.Lost == 3, "a sum by a claim", a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history(newSheetPair(t))
		})
	}
	t.Run("a sheet that is gone", func(t *testing.T) {
		t.Parallel()
		w := newSheetPair(t)
		w.claim("a/1", 1, 3)
		w.want(w.client.PTTL(t.Context(), sheetKey).Val() > 89*24*time.Hour, "a sheet that is kept as long as the state", nil)
		must(t, w.client.Del(t.Context(), sheetKey).Err())
		a := w.redis.Claim(t.Context(), []series.Claim{{Key: "job", Owner: "b/1", Number: w.start + 1, TTL: time.Second, Deadline: time.Hour, Attempts: 9,
			Latest: driver.MaxNumber, Sharding: &series.Sharding{Shards: 3, Want: []int{0}, Most: 1}}})[0]
		w.want(a.Kind == series.KindPassed && a.Sum != nil && a.Sum.Lost == 3, "no shard that runs twice", a)
	})
	t.Run("a sheet of another run, a broadcast", func(t *testing.T) {
		t.Parallel()
		w := newSheetPair(t)
		w.claim("a/1", 1, 3)
		must(t, w.client.HSet(t.Context(), sheetKey, "f", "7", "a", "2", "p", "a;b;c;d;").Err())
		is := w.redis.ReadSeries(t.Context(), []string{"job"})[0]
		w.want(is.Err == nil && !is.Sheet.Broadcast && len(is.Sheet.Params) == 0 && is.Sheet.Shards[0].State == series.RunLost, "lost shards", is)
	})
	t.Run("a sheet that is left of a state that is gone", func(t *testing.T) {
		t.Parallel()
		w := newSheetPair(t)
		w.claim("a/1", 1, 3)
		must(t, w.client.Del(t.Context(), "cronce:v1:{cronce.0}:s:job").Err())
		opened := w.redis.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "a"}})[0]
		w.server.wait(time.Second)
		a := w.redis.Claim(t.Context(), []series.Claim{{Key: "job", Owner: "b/1", Number: opened.Mark + 1, After: opened.Mark, TTL: time.Second, Deadline: time.Hour,
			Attempts: 1, Latest: driver.MaxNumber, Sharding: &series.Sharding{Shards: 3, Want: []int{0}, Most: 1}}})[0]
		w.want(a.Kind == series.KindGranted && a.Free == 2, "a sheet of free shards", a)
		shards := w.redis.ReadSeries(t.Context(), []string{"job"})[0].Sheet.Shards
		w.want(len(shards) == 3 && shards[2] == series.Shard{}, "free shards in the store", shards)
	})
}
