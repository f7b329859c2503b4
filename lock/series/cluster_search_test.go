package series_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// small is a world of two nodes with leases of two intervals.
func small(ticks int, p policy) bounds {
	return bounds{policy: p, nodes: 2, ticks: ticks, ttl: 2, margin: 1, lag: 1, horizon: int8(ticks) + 2}
}

// A named world is searched to its end.
type named struct {
	name string
	bounds
}

var clusterPolicies = []struct {
	name string
	policy
	all bool
}{
	{"skip-lost", policy{overlap: series.OverlapSkip, attempts: 1, deadline: interval * time.Millisecond}, false},
	{"skip-rerun", policy{overlap: series.OverlapSkip, rerun: true, attempts: 2, deadline: interval * time.Millisecond}, false},
	{"queue-lost", policy{overlap: series.OverlapQueue, attempts: 1, deadline: 2 * interval * time.Millisecond}, false},
	{"queue-rerun", policy{overlap: series.OverlapQueue, rerun: true, attempts: 2, deadline: 2 * interval * time.Millisecond}, false},
	{"allow-lost", policy{overlap: series.OverlapAllow, attempts: 1, deadline: interval * time.Millisecond}, false},
	{"allow-rerun", policy{overlap: series.OverlapAllow, rerun: true, attempts: 2, deadline: interval * time.Millisecond}, false},
	{"replace-lost", policy{overlap: series.OverlapReplace, attempts: 1, deadline: 2 * interval * time.Millisecond}, false},
	{"replace-rerun", policy{overlap: series.OverlapReplace, rerun: true, attempts: 2, deadline: 2 * interval * time.Millisecond}, false},
	{"all-lost", policy{overlap: series.OverlapSkip, attempts: 1, deadline: 9 * interval * time.Millisecond}, true},
	{"all-rerun", policy{overlap: series.OverlapSkip, rerun: true, attempts: 2, deadline: 9 * interval * time.Millisecond}, true},
}

// worlds are the small clusters: each policy with each kind of fault.
func worlds(ticks int) (ws []named) {
	for _, p := range clusterPolicies {
		add := func(name string, change func(b *bounds)) {
			b := small(ticks, p.policy)
			b.all = p.all
			change(&b)
			ws = append(ws, named{fmt.Sprintf("%d-%s-%s", ticks, p.name, name), b})
		}
		add("crash", func(b *bounds) { b.crash = 1 })
		add("lose", func(b *bounds) { b.lose = 1 })
		add("repeat-drain", func(b *bounds) { b.repeat, b.drain = 1, true })
		add("freeze", func(b *bounds) { b.freeze = 1 })
		add("pause", func(b *bounds) { b.pause = 1 })
		add("edit", func(b *bounds) { b.edit = 1 })
		add("cancel-drain", func(b *bounds) { b.cancel, b.drain = 1, true })
		if ticks <= 2 {
			add("crash-lose", func(b *bounds) { b.crash, b.lose = 1, 1 })
			add("freeze-crash", func(b *bounds) { b.freeze, b.crash = 1, 1 })
			add("brief-pause-crash", func(b *bounds) { b.pause, b.crash, b.brief = 1, 1, true })
			add("pause-crash", func(b *bounds) { b.pause, b.crash = 1, 1 })
			add("edit-lose-drain", func(b *bounds) { b.edit, b.lose, b.drain = 1, 1, true })
			add("cancel-crash", func(b *bounds) { b.cancel, b.crash = 1, 1 })
			add("cancel-lose", func(b *bounds) { b.cancel, b.lose = 1, 1 })
			add("cancel-pause", func(b *bounds) { b.cancel, b.pause = 1, 1 })
			add("run-skip-crash", func(b *bounds) { b.run, b.skip, b.crash = 1, 1, 1 })
			add("run-lose", func(b *bounds) { b.run, b.lose = 1, 1 })
			add("run-pause", func(b *bounds) { b.run, b.pause = 1, 1 })
			add("run-cancel-drain", func(b *bounds) { b.run, b.cancel, b.drain = 1, 1, true })
			add("backfill-crash", func(b *bounds) { b.fill, b.crash = 1, 1 })
			add("backfill-lose", func(b *bounds) { b.fill, b.lose = 1, 1 })
			add("backfill-cancel-pause", func(b *bounds) { b.fill, b.cancel, b.pause = 1, 1, 1 })
			add("three-nodes", func(b *bounds) { b.nodes = 3 })
		}
	}
	return ws
}

// A cluster of nodes that crash, freeze, lose replies and repeat requests keeps
// every invariant in every order of events, and any node alone brings every tick to
// its last verdict afterwards. Each world is searched breadth first up to a number
// of states; when CRONCE_SOAK is set, to its end or to twelve million states.
func TestEveryCluster(t *testing.T) {
	most, all := mostStates, slices.Concat(worlds(1), worlds(2))
	if os.Getenv("CRONCE_SOAK") != "" {
		most, all = 12_000_000, slices.Concat(all, worlds(3))
	}
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := explore(&w.bounds, most)
			if s.fault != "" {
				t.Fatalf("%s, after\n%s", s.fault, strings.Join(s.trace(), "\n"))
			}
			t.Logf("%d states, %d steps, whole: %v", len(s.from), s.edges, s.whole)
		})
	}
}

// The search finds a mistake of a node, each by the invariant that it breaks.
func TestClusterSearchFindsMistakes(t *testing.T) {
	lost, rerun := clusterPolicies[0].policy, clusterPolicies[1].policy
	for _, test := range []struct {
		name  string
		want  string
		world bounds
		plant func(b *bounds)
	}{
		{"no margin for late timers", "I3", small(2, lost), func(b *bounds) { b.margin = 0 }},
		{"trust from the reply", "I3", small(2, rerun), func(b *bounds) { b.mistake = trustFromReply }},
		{"trust in the whole TTL of a grant that is answered again", "I3", small(2, rerun), func(b *bounds) { b.lose, b.mistake = 1, trustFullTTL }},
		{"a claim that jumps over a gap", "I4", small(2, lost), func(b *bounds) { b.mistake = claimIgnoresGap }},
		{"a node that never looks at the runs of others", "stuck", small(2, rerun), func(b *bounds) { b.nodes, b.crash, b.mistake = 1, 1, forgetsOthers }},
		{"a run that starts with a lease from before a freeze", "I3", small(2, rerun), func(b *bounds) { b.freeze, b.mistake = 1, startsAfterTrust }},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.plant(&test.world)
			s := explore(&test.world, 100_000)
			if !strings.HasPrefix(s.fault, test.want) {
				t.Errorf("found %q in %d states, want %s", s.fault, len(s.from), test.want)
			}
		})
	}
}

// An exploration is a breadth-first search, so that the first trace of a fault is
// a shortest one.
type exploration struct {
	bounds *bounds
	seen   map[[2]uint64]int32
	from   []int32 // the state from which a state was found first
	turn   []int32 // and by which of its turns
	quiet  []bool
	next   [][]edge
	edges  int
	whole  bool // every state was searched

	fault string
	last  []int32 // the turns that lead to the fault
}

// An edge is a step without a fault.
type edge struct {
	to int32
	by int8
}

var keySeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (s *exploration) id(c *cluster, from, turn int32) (id int32, fresh bool) {
	var buf [512]byte
	text := c.key(buf[:0])
	key := [2]uint64{maphash.Bytes(keySeeds[0], text), maphash.Bytes(keySeeds[1], text)}
	if id, ok := s.seen[key]; ok {
		return id, false
	}
	id = int32(len(s.from))
	s.seen[key] = id
	s.from, s.turn, s.quiet = append(s.from, from), append(s.turn, turn), append(s.quiet, c.quiet())
	return id, true
}

// explore searches a world until a fault, its end, or most states.
func explore(b *bounds, most int) *exploration {
	s := &exploration{bounds: b, seen: map[[2]uint64]int32{}}
	start := newCluster(b)
	s.id(start, -1, 0)
	level := []*cluster{start}
	for at := int32(0); len(level) > 0; {
		var below []*cluster
		for _, c := range level {
			found := s.expand(c, at, &below)
			if !found || len(s.from) > most {
				return s
			}
			at++
		}
		level = below
	}
	s.whole = true
	s.live()
	return s
}

// expand makes every turn from one state. It reports whether no fault was found.
func (s *exploration) expand(c *cluster, at int32, below *[]*cluster) bool {
	var edges []edge
	for i, m := range c.turns() {
		t := c.clone()
		m.do(t)
		s.edges++
		if s.fault = t.check(); s.fault != "" {
			s.last = append(s.path(at), int32(i))
			return false
		}
		id, fresh := s.id(t, at, int32(i))
		if fresh {
			*below = append(*below, t)
		}
		if !m.fault {
			edges = append(edges, edge{id, m.by})
		}
	}
	s.next = append(s.next, edges)
	return true
}

// live holds every state against I4 and I6: any node alone, without a further
// fault, can bring every tick to its last verdict.
func (s *exploration) live() {
	for node := range s.bounds.nodes {
		good := slices.Clone(s.quiet)
		for changed := true; changed; {
			changed = false
			for i := len(good) - 1; i >= 0; i-- {
				if !good[i] && slices.ContainsFunc(s.next[i], func(e edge) bool { return (e.by < 0 || int(e.by) == node) && good[e.to] }) {
					good[i], changed = true, true
				}
			}
		}
		if i := slices.Index(good, false); i >= 0 {
			s.fault, s.last = fmt.Sprintf("stuck: node %s alone never brings every tick to a verdict", nodeName(node)), s.path(int32(i))
			return
		}
	}
}

// path is the turns from the start to a state.
func (s *exploration) path(id int32) (turns []int32) {
	for ; s.from[id] >= 0; id = s.from[id] {
		turns = append(turns, s.turn[id])
	}
	slices.Reverse(turns)
	return turns
}

// trace plays the turns to the fault again, and returns their labels.
func (s *exploration) trace() (labels []string) {
	c := newCluster(s.bounds)
	for _, i := range s.last {
		m := c.turns()[i]
		labels = append(labels, fmt.Sprintf("%2d. %s", len(labels)+1, m.label))
		m.do(c)
	}
	return append(labels, fmt.Sprintf("%+v", c.state))
}

// key is all that two clusters must share to have the same future. Owners and
// fences are named by their order, and times that no longer matter are left out.
func (c *cluster) key(b []byte) []byte {
	k := keyWriter{b: b, fences: c.fences()}
	k.putOwners(c)
	k.put(c.now, int8(c.change), c.losses, c.crashes, c.freezes, c.repeats, c.pauses, c.cancels, c.edits, c.requests, c.skips, c.fills, int8(len(c.state.Backfill.Numbers)), c.ledger.filled, flag(c.state.Manual < c.ms()), int8(max(0, c.ledger.skip-base)/interval), flag(c.again), flag(c.state.Paused), int8(max(0, c.state.Pause.Until-base)/interval), int8(indexOf(c.state.Mark)))
	for i := range c.state.Runs {
		k.run(c, &c.state.Runs[i])
	}
	k.put(-1)
	if k.alive[ownerNumber(c.state.SpentBy)] {
		k.owner(ownerNumber(c.state.SpentBy))
		k.put(int8(c.state.SpentAs))
		k.fence(c.state.SpentFence)
	}
	k.put(-2)
	for i := 1; i <= c.ticks; i++ {
		k.page(c, i)
	}
	for i := range c.manual() {
		k.put(int8(i))
		k.page(c, i)
	}
	for i := range c.bounds.nodes {
		k.node(c, &c.nodes[i])
	}
	k.request(&c.late)
	k.fence(c.state.Fence)
	return k.b
}

type keyWriter struct {
	b      []byte
	fences []int64
	alive  [len(ownerNames)]bool // owners that a node may still ask with
	names  [len(ownerNames)]byte
	named  byte
}

func (k *keyWriter) putOwners(c *cluster) {
	k.alive[c.late.owner] = true
	for i := range c.nodes {
		k.alive[c.nodes[i].owner], k.alive[c.nodes[i].op.owner] = true, true
	}
	k.alive[0] = false
}

func (k *keyWriter) put(values ...int8) {
	for _, v := range values {
		k.b = append(k.b, byte(v))
	}
}

func (k *keyWriter) page(c *cluster, i int) {
	p := &c.ledger.pages[i]
	k.put(int8(p.fate), c.starts[i], flag(p.cancelled))
	if p.fate != final {
		k.put(int8(p.attempt))
		k.fence(p.fence)
	}
}

func (k *keyWriter) owner(n int8) {
	if n == 0 || !k.alive[n] {
		k.b = append(k.b, 0)
		return
	}
	if k.names[n] == 0 {
		k.named++
		k.names[n] = k.named
	}
	k.b = append(k.b, k.names[n])
}

func (k *keyWriter) fence(f int64) {
	i, _ := slices.BinarySearch(k.fences, f)
	k.b = append(k.b, byte(i))
}

// run writes a run of the store, unless it is settled and no node can ask for it.
func (k *keyWriter) run(c *cluster, r *series.Run) {
	owner := ownerNumber(r.Owner)
	if r.State >= series.RunDone && !k.alive[owner] {
		return
	}
	k.put(int8(indexOf(r.Number)), int8(r.State), int8(r.Attempt), flag(r.Replaced), flag(r.Cancelled), int8(max(0, indexOf(r.Until)-int(c.now))))
	if indexOf(c.state.Mark) < c.ticks {
		k.put(int8(indexOf(r.Granted)))
	}
	if r.Manual() {
		k.put(int8(max(0, (r.StartBy-c.ms()+interval)/interval)), flag(r.Number >= c.state.Pause.Since), int8(r.For/interval))
	}
	k.owner(owner)
	k.fence(r.Fence)
}

func (k *keyWriter) node(c *cluster, n *member) {
	k.put(int8(n.mode), int8(n.phase), n.tick, flag(n.flying))
	k.owner(n.owner)
	k.fence(n.fence)
	if n.phase != noRun && n.phase != ending && n.trust+c.lag > c.now {
		k.put(n.trust)
	} else {
		k.put(-1)
	}
	if n.op.kind != noRequest && (n.flying || n.reply.here) {
		k.put(max(n.sent, c.now-c.ttl, 0))
	} else {
		k.put(-1)
	}
	k.request(&n.op)
	k.put(flag(n.reply.here), int8(n.reply.kind), flag(n.reply.alive), n.reply.tick, n.reply.left, n.reply.mark, flag(n.reply.watching))
	k.fence(n.reply.fence)
	if c.watches(n) {
		k.put(n.watchTick)
		k.fence(n.watchFence)
	} else {
		k.put(0)
	}
}

// watches reports whether the run that a node looks at again can still be taken over.
func (c *cluster) watches(n *member) bool {
	return n.watchTick != 0 && slices.ContainsFunc(c.state.Runs, func(r series.Run) bool {
		return r.Number == due(int(n.watchTick)) && r.Fence == n.watchFence && r.State < series.RunDone
	})
}

func (k *keyWriter) request(r *request) {
	k.put(int8(r.kind), r.tick, r.after, r.between, flag(r.backlog), flag(r.former), int8(r.how))
	k.owner(r.owner)
	k.fence(r.fence)
}

// fences are all that anything in the cluster names, sorted.
func (c *cluster) fences() []int64 {
	all := make([]int64, 0, 24)
	all = append(all, 0, c.state.Fence, c.state.SpentFence, c.late.fence)
	for i := range c.state.Runs {
		all = append(all, c.state.Runs[i].Fence)
	}
	for i := 1; i <= c.ticks; i++ {
		all = append(all, c.ledger.pages[i].fence)
	}
	for i := range c.manual() {
		all = append(all, c.ledger.pages[i].fence)
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		all = append(all, n.fence, n.op.fence, n.reply.fence, n.watchFence)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func flag(b bool) int8 {
	if b {
		return 1
	}
	return 0
}

// Two orders of the same events have one key, and a state is not mistaken for
// another one.
func TestClusterKey(t *testing.T) {
	b := small(2, clusterPolicies[0].policy)
	one, other := newCluster(&b), newCluster(&b)
	for _, c := range []*cluster{one, other} {
		c.pass()
	}
	one.send(&one.nodes[0], request{kind: claimRequest, tick: 1, owner: 1})
	one.send(&one.nodes[1], request{kind: claimRequest, tick: 1, owner: 2})
	other.send(&other.nodes[1], request{kind: claimRequest, tick: 1, owner: 1})
	other.send(&other.nodes[0], request{kind: claimRequest, tick: 1, owner: 2})
	if !bytes.Equal(one.key(nil), other.key(nil)) {
		t.Error("owners that were drawn in another order make another state")
	}
	other.exec(other.nodes[0].op)
	if bytes.Equal(one.key(nil), other.key(nil)) {
		t.Error("a grant makes no other state")
	}
}
