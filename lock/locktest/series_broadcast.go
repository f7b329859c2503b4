package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var broadcastTests = []test{
	{"each node of a broadcast is granted its own shard, once", broadcastGranted},
	{"a node that a broadcast does not list is granted nothing", broadcastUnlisted},
	{"the first claim of a broadcast names its nodes", broadcastLayout},
	{"the shard of a dead node is lost, and no other node is granted it", broadcastDead},
	{"a node that does not start its shard of a broadcast by the deadline misses it", broadcastMissed},
	{"half the deadline is left of a broadcast that was opened late", broadcastLate},
	{"shards that wait for other nodes do not keep a node from the next number longer than the deadline", broadcastNext},
	{"a cancel ends a broadcast", broadcastCancelled},
}

var broadcastNodes = []string{"a", "é+,*#%", "c-1"}

// broadcasts returns the claim of due(1) by a node that lets each of the nodes run once.
func (s *fixture) broadcasts(node string) series.Claim {
	c := s.next(1)
	s.owners++
	c.Owner = fmt.Sprintf("%s/%d", node, s.owners)
	c.Attempts = 1
	c.Sharding = &series.Sharding{Shards: len(broadcastNodes), Params: broadcastNodes, Broadcast: true, Most: 1}
	return c
}

func broadcastGranted(s *fixture) {
	s.open()
	var refs []series.RunRef
	for _, i := range []int{1, 0, 2} {
		a, ref := s.takesOne(s.broadcasts(broadcastNodes[i]))
		s.hasShards(a, i)
		equal(s, "shards", a.Of, 3)
		equal(s, "free ones of this node", a.Free, 0)
		equal(s, "the parameter", a.Shards[0].Param, broadcastNodes[i])
		refs = append(refs, ref)
	}
	is := s.look()
	equal(s, "a broadcast", is.Sheet.Broadcast, true)
	if !slices.Equal(is.Sheet.Params, broadcastNodes) {
		s.Fatalf("the nodes are %q, want %q", is.Sheet.Params, broadcastNodes)
	}
	s.unchanged(func() {
		equal(s, "free ones", s.claimed(s.broadcasts("a"), series.KindPassed).Free, 0)
	})
	s.ended(refs[0], series.RunDone)
	s.fails(refs[1])
	s.unchanged(func() { s.claimed(s.broadcasts(broadcastNodes[1]), series.KindPassed) })
	sum := s.ended(refs[2], series.RunDone).Sum
	s.summed(sum, series.Sum{Number: s.due(1), Outcome: series.OutcomeFailed, Shards: 3, OK: 2, Failed: 1})
}

func broadcastUnlisted(s *fixture) {
	s.open()
	opening := s.claimed(s.broadcasts("stranger"), series.KindGranted)
	equal(s, "granted shards", len(opening.Shards), 0)
	equal(s, "shards", opening.Of, 3)
	s.unchanged(func() {
		for _, owner := range []string{"stranger", "A", "c", "c-1/1"} { // the last is the node c-1/1
			c := s.broadcasts(owner)
			c.Sharding.Want, c.Sharding.Most = []int{0, 1, 2}, 3
			equal(s, "free ones", s.claimed(c, series.KindPassed).Free, 0)
		}
	})
	s.takesOne(s.broadcasts("c-1"))
}

func broadcastLayout(s *fixture) {
	s.open()
	s.takesOne(s.broadcasts("a"))
	c := s.broadcasts("c-1")
	c.Sharding = &series.Sharding{Shards: 2, Params: []string{"c-1", "d"}, Broadcast: true, FailAll: true, Most: 1}
	a, _ := s.takesOne(c)
	s.hasShards(a, 2)
	equal(s, "shards", a.Of, 3)
	s.unchanged(func() {
		c := s.broadcasts("d")
		c.Sharding = &series.Sharding{Shards: 4, Want: []int{0, 1, 2, 3}, Most: 4} // as by a node of another version
		equal(s, "free ones", s.claimed(c, series.KindPassed).Free, 0)
	})
	c = s.broadcasts(broadcastNodes[1])
	c.Sharding = &series.Sharding{Shards: 4, Want: []int{0, 3}, Most: 4}
	a, _ = s.takesOne(c)
	s.hasShards(a, 1)
}

func broadcastDead(s *fixture) {
	s.open()
	_, dead := s.takesOne(s.broadcasts("a"))
	_, two := s.takesOne(s.broadcasts(broadcastNodes[1]))
	_, back := s.takesOne(s.broadcasts("c-1"))
	s.dies(dead)
	s.ended(back, series.RunGivenBack)
	equal(s, "granted shards", len(s.claimed(s.broadcasts(broadcastNodes[1]), series.KindPassed).Shards), 0)
	is := s.look()
	equal(s, "the shard of the dead node", is.Sheet.Shards[0].Outcome, string(series.VerdictLost))
	equal(s, "the shard that was given back", is.Sheet.Shards[2].Outcome, string(series.VerdictLost))
	s.summed(s.ended(two, series.RunDone).Sum, series.Sum{Number: two.Number, Outcome: series.OutcomeLost, Shards: 3, OK: 1, Lost: 2})
}

// secondMisses ends the shards of the first and the last node, and fails the test unless the second one has missed its shard a
// millisecond later.
func (s *fixture) secondMisses(first, last series.RunRef) {
	s.Helper()
	s.ended(first, series.RunDone)
	s.ended(last, series.RunDone)
	s.env.Wait(time.Millisecond)
	sum := s.claimed(s.broadcasts(broadcastNodes[1]), series.KindPassed).Sum
	s.summed(sum, series.Sum{Number: first.Number, Outcome: series.OutcomeFailed, Shards: 3, OK: 2, Missed: 1})
}

func broadcastMissed(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.broadcasts("a")
	c.Deadline = time.Second
	opening, one := s.takesOne(c)
	equal(s, "left for the other nodes", opening.Left, time.Duration(1000-(opening.Now-c.Number))*time.Millisecond)
	s.env.Wait(999*time.Millisecond - time.Duration(s.look().Now-c.Number)*time.Millisecond)
	c = s.broadcasts("c-1") // the opening fixed the deadline
	a, two := s.takesOne(c)
	equal(s, "after the number was due", a.Now-c.Number, 999)
	s.secondMisses(one, two)
	if sheet := s.sheet(c.Number, 3); sheet != nil {
		equal(s, "the outcome of the second node", sheet[1].Outcome, string(series.VerdictMissed))
		equal(s, "its name", sheet[1].Owner, broadcastNodes[1]+"/")
	}
}

func broadcastLate(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.broadcasts("a")
	c.Deadline = time.Second
	s.env.Wait(900*time.Millisecond - time.Duration(s.look().Now-c.Number)*time.Millisecond)
	_, one := s.takesOne(c)
	s.env.Wait(500 * time.Millisecond)
	_, two := s.takesOne(s.broadcasts("c-1"))
	s.secondMisses(one, two)
}

func broadcastNext(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.broadcasts("a")
	c.Deadline = time.Second
	opening, one := s.takesOne(c)
	s.ended(one, series.RunDone)
	s.unchanged(func() { equal(s, "its free shards", s.claimed(s.broadcasts("a"), series.KindPassed).Free, 0) })
	s.env.Wait(time.Second - time.Duration(s.look().Now-c.Number)*time.Millisecond)
	next := s.broadcasts("a")
	next.Number, next.After = s.look().Now, s.due(1)
	a, _ := s.shared(next)
	s.hasShards(a, 0)
	s.summed(a.Sum, series.Sum{Number: opening.Number, Outcome: series.OutcomeFailed, Shards: 3, OK: 1, Missed: 2})
}

func broadcastCancelled(s *fixture) {
	s.open()
	_, one := s.takesOne(s.broadcasts("a"))
	s.makes(s.cancel(one.Number))
	equal(s, "granted shards", len(s.claimed(s.broadcasts("c-1"), series.KindPassed).Shards), 0)
	sum := s.ended(one, series.RunDone).Sum
	s.summed(sum, series.Sum{Number: one.Number, Outcome: series.OutcomeCancelled, Shards: 3, OK: 1, Cancelled: 2})
}
