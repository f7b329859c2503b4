package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var argumentTests = []test{
	{"bad claims are refused by the argument's name and nothing is sent", badClaims},
	{"bad renewals and endings are refused by the argument's name", badRuns},
	{"bad openings, looks and changes are refused by the argument's name", badOthers},
	{"bad claims of shards are refused by the argument's name, and all by a store that divides no number", badShards},
	{"a refused request leaves its batch alone", badAmongGood},
}

// done returns a context that has ended: a refused request is not sent, so its error is not doubt.
func (s *fixture) done() context.Context {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	return ctx
}

// spoilt makes a request with one bad argument.
type spoilt[T any] struct {
	argument string
	spoil    func(*T)
}

var badClaim = []spoilt[series.Claim]{
	{"owner", func(c *series.Claim) { c.Owner = "" }},
	{"owner", func(c *series.Claim) { c.Owner = "a|b/1" }},
	{"owner", func(c *series.Claim) { c.Owner = "a;b/1" }},
	{"owner", func(c *series.Claim) { c.Owner = strings.Repeat("x", driver.MaxKey+1) }},
	{"number", func(c *series.Claim) { c.Number, c.After = 0, -1 }},
	{"number", func(c *series.Claim) { c.Number, c.After = -5, -6 }},
	{"number", func(c *series.Claim) { c.Number = driver.MaxNumber + 1 }},
	{"after", func(c *series.Claim) { c.After = -1 }},
	{"after", func(c *series.Claim) { c.After = c.Number }},
	{"between", func(c *series.Claim) { c.Between = -1 }},
	{"from", func(c *series.Claim) { c.From = -1 }},
	{"TTL", func(c *series.Claim) { c.TTL = driver.MinTTL - time.Nanosecond }},
	{"TTL", func(c *series.Claim) { c.TTL = driver.MaxTTL + time.Nanosecond }},
	{"TTL", func(c *series.Claim) { c.TTL = -time.Second }},
	{"deadline", func(c *series.Claim) { c.Deadline = -1 }},
	{"window", func(c *series.Claim) { c.Window = -1 }},
	{"attempts", func(c *series.Claim) { c.Attempts = 0 }},
	{"overlap", func(c *series.Claim) { c.Overlap = series.OverlapReplace + 1 }},
	{"latest", func(c *series.Claim) { c.Latest = -1 }},
	{"fence", func(c *series.Claim) { c.Fence = -1 }},
	{"fence", func(c *series.Claim) { c.Fence = driver.MaxNumber + 1 }},
	{"late", func(c *series.Claim) { c.Late = "a|b" }},
	{"revision", func(c *series.Claim) { c.Revision = "a\nb" }},
	{"replicas", func(c *series.Claim) { c.Replicas = -1 }},
	{"replicas", func(c *series.Claim) { c.Replicas = driver.MaxReplicas + 1 }},
}

var badRun = []spoilt[series.RunRef]{
	{"owner", func(r *series.RunRef) { r.Owner = "" }},
	{"number", func(r *series.RunRef) { r.Number = 0 }},
	{"fence", func(r *series.RunRef) { r.Fence = 0 }},
	{"fence", func(r *series.RunRef) { r.Fence = driver.MaxNumber + 1 }},
}

var badSharding = []spoilt[series.Claim]{
	{"shards", func(c *series.Claim) { c.Sharding.Shards = 0 }},
	{"shards", func(c *series.Claim) { c.Sharding.Shards = series.MaxShards + 1 }},
	{"params", func(c *series.Claim) { c.Sharding.Params = []string{"a", "b", "c"} }},
	{"params", func(c *series.Claim) { c.Sharding.Params = []string{strings.Repeat("x", series.MaxParam+1)} }},
	{"params", func(c *series.Claim) { c.Sharding.Params = []string{"a\nb"} }},
	{"params", func(c *series.Claim) {
		c.Sharding.Shards = series.MaxShards
		c.Sharding.Params = slices.Repeat([]string{strings.Repeat("x", series.MaxParam)}, series.MaxParams/series.MaxParam+1)
	}},
	{"params", func(c *series.Claim) { c.Sharding.Broadcast, c.Sharding.Params = true, []string{"a"} }},
	{"params", func(c *series.Claim) { c.Sharding.Broadcast, c.Sharding.Params = true, []string{"a", "a"} }},
	{"params", func(c *series.Claim) { c.Sharding.Broadcast, c.Sharding.Params = true, []string{"a", "b;c"} }},
	{"most", func(c *series.Claim) {
		c.Sharding.Broadcast, c.Sharding.Params, c.Sharding.Most = true, []string{"a", "b"}, 0
	}},
	{"want", func(c *series.Claim) { c.Sharding.Want = []int{0, -1} }},
	{"want", func(c *series.Claim) { c.Sharding.Want = []int{series.MaxShards} }},
	{"most", func(c *series.Claim) { c.Sharding.Most = 0 }},
	{"overlap", func(c *series.Claim) { c.Overlap = series.OverlapAllow }},
}

var badShard = []spoilt[series.RunRef]{
	{"shard", func(r *series.RunRef) { r.Shard = -1 }},
	{"shard", func(r *series.RunRef) { r.Shard = 2 }},
	{"shard", func(r *series.RunRef) { r.Shard, r.Shards = 1, 0 }},
	{"shard", func(r *series.RunRef) { r.Shards = -1 }},
	{"shard", func(r *series.RunRef) { r.Shards = series.MaxShards + 1 }},
}

// andKeys adds the bad keys to the other bad arguments.
func andKeys[T any](all []spoilt[T], set func(of *T, key string)) []spoilt[T] {
	for _, key := range badKeys {
		all = append(slices.Clip(all), spoilt[T]{"key", func(of *T) { set(of, key) }})
	}
	return all
}

func badClaims(s *fixture) {
	s.open()
	s.unchanged(func() {
		for _, b := range andKeys(badClaim, func(c *series.Claim, key string) { c.Key = key }) {
			c := s.next(1)
			b.spoil(&c)
			a := s.front().Claim(s.done(), []series.Claim{c})[0]
			equal(s, "the kind", a.Kind, series.KindUnknown)
			s.refused(a.Err, b.argument)
		}
	})
}

func badRuns(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.unchanged(func() {
		for _, b := range andKeys(badRun, func(r *series.RunRef, key string) { r.Key = key }) {
			r := run
			b.spoil(&r)
			s.refused(s.front().RenewRuns(s.done(), []series.RunRef{r})[0].Err, b.argument)
			s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: r}})[0].Err, b.argument)
		}
		r := run
		r.TTL = driver.MinTTL - 1
		s.refused(s.front().RenewRuns(s.done(), []series.RunRef{r})[0].Err, "TTL")
		for _, state := range []series.RunState{series.RunOpen, series.RunWaiting, series.RunLost, series.RunLost + 1, 255} {
			s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: run, State: state}})[0].Err, "state")
		}
		s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: run, Outcome: "a|b"}})[0].Err, "outcome")
		for _, text := range []string{strings.Repeat("x", series.MaxErrorText+1), "\xff"} {
			s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: run, Error: text}})[0].Err, "error")
		}
	})
	run.TTL = 0
	e := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: run, Outcome: series.OutcomeOK, OK: true}})[0] // an ending needs no TTL, and no state
	equal(s, "ended", e.Ended, true)
	equal(s, "the last success", s.look().Last, run.Number)
	equal(s, "ended again as done", s.ended(run, series.RunDone).Ended, true)
}

func badShards(s *fixture) {
	s.open()
	ref := series.RunRef{Key: s.key, Number: s.due(1), Owner: s.owner(), Fence: 1, TTL: long, Shards: 2}
	s.unchanged(func() {
		for _, b := range badSharding {
			c := s.divide(1, 2, 0)
			b.spoil(&c)
			s.refused(s.front().Claim(s.done(), []series.Claim{c})[0].Err, b.argument)
		}
		for _, b := range badShard {
			r := ref
			b.spoil(&r)
			s.refused(s.front().RenewRuns(s.done(), []series.RunRef{r})[0].Err, b.argument)
			s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: r}})[0].Err, b.argument)
		}
		for _, outcome := range []string{"a,b", "ok+", "a|b"} {
			s.refused(s.front().ReleaseRuns(s.done(), []series.EndRequest{{RunRef: ref, Outcome: outcome}})[0].Err, "outcome")
		}
		if s.shards() {
			return
		}
		for what, err := range map[string]error{
			"a claim of shards":      s.front().Claim(s.ctx, []series.Claim{s.divide(1, 2, 0)})[0].Err,
			"the renewal of a shard": s.front().RenewRuns(s.ctx, []series.RunRef{ref})[0].Err,
			"the end of a shard":     s.front().ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: ref}})[0].Err,
		} {
			if !errors.Is(err, driver.ErrUnsupported) {
				s.Errorf("%s: %v, want ErrUnsupported", what, err)
			}
		}
	})
}

func badOthers(s *fixture) {
	for _, key := range badKeys {
		s.refused(s.front().Open(s.done(), []series.OpenRequest{{Key: key, Node: "n"}})[0].Err, "key")
		s.refused(s.front().ReadSeries(s.done(), []string{key})[0].Err, "key")
		c := s.change(series.ActionPause)
		c.Key = key
		s.refused(s.front().Control(s.done(), c).Err, "key")
		if key != "" {
			_, err := s.front().Audit(s.done(), key, 1)
			s.refused(err, "key")
		}
		if s.journaled != nil {
			_, err := s.front().Journal(s.done(), key, 1)
			s.refused(err, "key")
		}
	}
	for argument, o := range map[string]series.OpenRequest{
		"node":     {Key: "job"},
		"revision": {Key: "job", Node: "n", Revision: "a|b"},
		"policies": {Key: "job", Node: "n", Policies: "a|b"},
		"mark":     {Key: "job", Node: "n", Mark: -1},
		"begin":    {Key: "job", Node: "n", Begin: -1},
	} {
		s.refused(s.front().Open(s.done(), []series.OpenRequest{o})[0].Err, argument)
	}
	for argument, change := range map[string]func(c *series.Control){
		"action": func(c *series.Control) { c.Action = series.ActionLapse },
		"due":    func(c *series.Control) { c.Action, c.Due = series.ActionResume, 1 },
		"op":     func(c *series.Control) { c.Op = strings.Repeat("x", 65) },
		"who":    func(c *series.Control) { c.Who = "a|b" },
		"reason": func(c *series.Control) { c.Reason = "" },
		"until":  func(c *series.Control) { c.Until = -1 },
		"seen":   func(c *series.Control) { c.Seen = -2 },
		"scope":  func(c *series.Control) { c.Scope = "an outage" },
	} {
		c := s.change(series.ActionPause)
		change(&c)
		s.refused(s.front().Control(s.done(), c).Err, argument)
	}
	for _, action := range []series.Action{series.ActionRun, series.ActionBackfill} {
		c := s.change(action)
		c.Scope = "a|b"
		if action == series.ActionRun {
			c.Until = 1
		}
		s.refused(s.front().Control(s.done(), c).Err, "scope")
	}
	for _, reason := range []string{"no", strings.Repeat("é", 501), "a\nb and c", "\x1b[31m red", "\xff\xff\xff", "left \u202e right"} {
		c := s.change(series.ActionPause)
		c.Reason = reason
		s.refused(s.front().Control(s.done(), c).Err, "reason")
	}
	ends := s.change(series.ActionResume)
	ends.Until = 1
	s.refused(s.front().Control(s.done(), ends).Err, "until")
	s.refused(s.front().Control(s.done(), s.change(series.ActionRun)).Err, "until") // no run starts by 0
}

func badAmongGood(s *fixture) {
	cs := s.fleet(4)
	cs[1].Owner, cs[3].Key = "", "\n"
	for i, a := range s.front().Claim(s.ctx, cs) {
		want := series.KindGranted
		if i%2 == 1 {
			want = series.KindUnknown
		}
		equal(s, fmt.Sprintf("the answer to claim %d", i), name(a.Kind), name(want))
	}
}
