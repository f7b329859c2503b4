package locktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var argumentTests = []test{
	{"bad claims are refused by the argument's name and nothing is sent", badClaims},
	{"bad renewals and endings are refused by the argument's name", badRuns},
	{"bad openings, looks and changes are refused by the argument's name", badOthers},
	{"a refused request leaves its batch alone", badAmongGood},
}

// done is a context that has ended: what is refused is not sent, so it is not doubt.
func (s *stand) done() context.Context {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	return ctx
}

// spoilt is a request with one bad argument.
type spoilt[T any] struct {
	argument string
	spoil    func(*T)
}

var badClaim = []spoilt[driver.Claim]{
	{"owner", func(c *driver.Claim) { c.Owner = "" }},
	{"owner", func(c *driver.Claim) { c.Owner = "a|b/1" }},
	{"owner", func(c *driver.Claim) { c.Owner = "a;b/1" }},
	{"owner", func(c *driver.Claim) { c.Owner = strings.Repeat("x", driver.MaxKey+1) }},
	{"number", func(c *driver.Claim) { c.Number, c.After = 0, -1 }},
	{"number", func(c *driver.Claim) { c.Number, c.After = -5, -6 }},
	{"number", func(c *driver.Claim) { c.Number = driver.MaxNumber + 1 }},
	{"after", func(c *driver.Claim) { c.After = -1 }},
	{"after", func(c *driver.Claim) { c.After = c.Number }},
	{"between", func(c *driver.Claim) { c.Between = -1 }},
	{"from", func(c *driver.Claim) { c.From = -1 }},
	{"TTL", func(c *driver.Claim) { c.TTL = driver.MinTTL - time.Nanosecond }},
	{"TTL", func(c *driver.Claim) { c.TTL = driver.MaxTTL + time.Nanosecond }},
	{"TTL", func(c *driver.Claim) { c.TTL = -time.Second }},
	{"deadline", func(c *driver.Claim) { c.Deadline = -1 }},
	{"window", func(c *driver.Claim) { c.Window = -1 }},
	{"attempts", func(c *driver.Claim) { c.Attempts = 0 }},
	{"overlap", func(c *driver.Claim) { c.Overlap = driver.OverlapReplace + 1 }},
	{"latest", func(c *driver.Claim) { c.Latest = -1 }},
	{"fence", func(c *driver.Claim) { c.Fence = -1 }},
	{"fence", func(c *driver.Claim) { c.Fence = driver.MaxNumber + 1 }},
	{"late", func(c *driver.Claim) { c.Late = "a|b" }},
	{"revision", func(c *driver.Claim) { c.Revision = "a\nb" }},
	{"replicas", func(c *driver.Claim) { c.Replicas = -1 }},
	{"replicas", func(c *driver.Claim) { c.Replicas = driver.MaxReplicas + 1 }},
}

var badRun = []spoilt[driver.RunRef]{
	{"owner", func(r *driver.RunRef) { r.Owner = "" }},
	{"number", func(r *driver.RunRef) { r.Number = 0 }},
	{"fence", func(r *driver.RunRef) { r.Fence = 0 }},
	{"fence", func(r *driver.RunRef) { r.Fence = driver.MaxNumber + 1 }},
}

// andKeys adds the bad keys to what else can be bad.
func andKeys[T any](all []spoilt[T], set func(of *T, key string)) []spoilt[T] {
	for _, key := range badKeys {
		all = append(slices.Clip(all), spoilt[T]{"key", func(of *T) { set(of, key) }})
	}
	return all
}

func badClaims(s *stand) {
	s.open()
	s.unchanged(func() {
		for _, b := range andKeys(badClaim, func(c *driver.Claim, key string) { c.Key = key }) {
			c := s.next(1)
			b.spoil(&c)
			a := s.front().Claim(s.done(), []driver.Claim{c})[0]
			equal(s, "the kind", a.Kind, driver.KindUnknown)
			s.refused(a.Err, b.argument)
		}
	})
}

func badRuns(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.unchanged(func() {
		for _, b := range andKeys(badRun, func(r *driver.RunRef, key string) { r.Key = key }) {
			r := run
			b.spoil(&r)
			s.refused(s.front().RenewRuns(s.done(), []driver.RunRef{r})[0].Err, b.argument)
			s.refused(s.front().ReleaseRuns(s.done(), []driver.EndRequest{{RunRef: r}})[0].Err, b.argument)
		}
		r := run
		r.TTL = driver.MinTTL - 1
		s.refused(s.front().RenewRuns(s.done(), []driver.RunRef{r})[0].Err, "TTL")
		s.refused(s.front().ReleaseRuns(s.done(), []driver.EndRequest{{RunRef: run, Kind: driver.EndGivenBack + 1}})[0].Err, "kind")
		s.refused(s.front().ReleaseRuns(s.done(), []driver.EndRequest{{RunRef: run, Outcome: "a|b"}})[0].Err, "outcome")
		for _, text := range []string{strings.Repeat("x", driver.MaxErrorText+1), "\xff"} {
			s.refused(s.front().ReleaseRuns(s.done(), []driver.EndRequest{{RunRef: run, Error: text}})[0].Err, "error")
		}
	})
	run.TTL = 0
	s.ended(run, driver.EndDone) // an ending needs no TTL
}

func badOthers(s *stand) {
	for _, key := range badKeys {
		s.refused(s.front().Open(s.done(), []driver.OpenRequest{{Key: key, Node: "n"}})[0].Err, "key")
		s.refused(s.front().ReadSeries(s.done(), []string{key})[0].Err, "key")
		c := s.change(driver.ActionPause)
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
	for argument, o := range map[string]driver.OpenRequest{
		"node":     {Key: "job"},
		"revision": {Key: "job", Node: "n", Revision: "a|b"},
		"policies": {Key: "job", Node: "n", Policies: "a|b"},
		"mark":     {Key: "job", Node: "n", Mark: -1},
		"begin":    {Key: "job", Node: "n", Begin: -1},
	} {
		s.refused(s.front().Open(s.done(), []driver.OpenRequest{o})[0].Err, argument)
	}
	for argument, change := range map[string]func(c *driver.Control){
		"action": func(c *driver.Control) { c.Action = driver.ActionLapse },
		"due":    func(c *driver.Control) { c.Action, c.Due = driver.ActionResume, 1 },
		"op":     func(c *driver.Control) { c.Op = strings.Repeat("x", driver.MaxOp+1) },
		"who":    func(c *driver.Control) { c.Who = "a|b" },
		"reason": func(c *driver.Control) { c.Reason = "" },
		"until":  func(c *driver.Control) { c.Until = -1 },
		"seen":   func(c *driver.Control) { c.Seen = -2 },
	} {
		c := s.change(driver.ActionPause)
		change(&c)
		s.refused(s.front().Control(s.done(), c).Err, argument)
	}
	for _, reason := range []string{"no", strings.Repeat("é", driver.MostReason+1), "a\nb and c", "\x1b[31m red", "\xff\xff\xff", "left \u202e right"} {
		c := s.change(driver.ActionPause)
		c.Reason = reason
		s.refused(s.front().Control(s.done(), c).Err, "reason")
	}
	ends := s.change(driver.ActionResume)
	ends.Until = 1
	s.refused(s.front().Control(s.done(), ends).Err, "until")
}

func badAmongGood(s *stand) {
	cs := s.fleet(4)
	cs[1].Owner, cs[3].Key = "", "\n"
	for i, a := range s.front().Claim(s.ctx, cs) {
		want := driver.KindGranted
		if i%2 == 1 {
			want = driver.KindUnknown
		}
		equal(s, fmt.Sprintf("the answer to claim %d", i), name(a.Kind), name(want))
	}
}
