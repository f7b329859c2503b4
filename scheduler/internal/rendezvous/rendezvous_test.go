package rendezvous

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Each tick is the share of exactly one node, all nodes agree on it, and the shares are even, for
// one job over many ticks and for many jobs at one tick.
func TestSharesAreEven(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 10, 50} {
		names := make([]string, nodes)
		for i := range names {
			names[i] = fmt.Sprintf("pod-%d-%08x", i, i*7919)
		}
		views := make([]Nodes, nodes)
		for i := range views {
			views[i] = Of(names[i], names)
		}
		const draws = 20_000
		byTick, byJob := make([]int, nodes), make([]int, nodes)
		for d := range draws {
			byTick[owner(t, views, Hash("job"), int64(d)*1000)]++
			byJob[owner(t, views, Hash(fmt.Sprint("job", d)), 1000)]++
		}
		for i := range nodes {
			for what, got := range map[string]int{"ticks": byTick[i], "jobs": byJob[i]} {
				if share := draws / nodes; got < share*8/10 || got > share*12/10 {
					t.Errorf("node %d of %d has %d %s, want about %d", i, nodes, got, what, share)
				}
			}
		}
	}
}

// The nodes of all versions compute the same hashes.
func TestHashesDoNotChange(t *testing.T) {
	if mixed, hash := Mix(1), Hash("job"); mixed != 0x5692161d100b05e5 || hash != 0x3b2cc2c1dadf56be {
		t.Errorf("%#x and %#x", mixed, hash)
	}
}

// As many nodes as were requested find themselves among the first ones for a key, and each as often as any
// other. A node that is listed twice counts once.
func TestFirstOf(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e"}
	first := map[string]int{}
	for key := range uint64(1000) {
		for most := 1; most <= 6; most++ {
			has := 0
			for _, name := range names {
				m := Of(name, append(names, "b"))
				among := m.FirstOf(most, key)
				if m.Count() != 5 || among.Count() != min(most, 5) || !among.Self(name) {
					t.Fatalf("%d of %d nodes, want %d of 5", among.Count(), m.Count(), most)
				}
				if among.Has() {
					has++
				}
				if most == 1 && among.Has() {
					first[name]++
				}
			}
			if has != min(most, 5) {
				t.Fatalf("%d nodes are among the first %d for key %d", has, most, key)
			}
		}
	}
	for name, n := range first {
		if n < 150 || n > 250 {
			t.Errorf("%s is first for %d of 1000 keys, want a fifth", name, n)
		}
	}
}

// A node that took the place of another one has joined.
func TestJoined(t *testing.T) {
	t.Parallel()
	before, after := Of("a", []string{"b", "c"}), Of("a", []string{"b", "d"})
	if fewer := Of("a", []string{"b"}); !after.Joined(&before) || !before.Joined(&after) || fewer.Joined(&before) {
		t.Errorf("after %v, before %v, fewer %v", after.Joined(&before), before.Joined(&after), fewer.Joined(&before))
	}
}

// owner returns the one node that is first.
func owner(t *testing.T, views []Nodes, job uint64, tick int64) int {
	t.Helper()
	found := -1
	for i := range views {
		if views[i].First(job, tick, "") {
			if found >= 0 {
				t.Fatalf("nodes %d and %d both come first", found, i)
			}
			found = i
		}
	}
	if found < 0 {
		t.Fatal("no node comes first")
	}
	return found
}

// Without the node that died another node is first, the same for all.
func TestShareWithout(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for tick := range int64(1000) {
		first := 0
		for _, name := range names[1:] {
			m := Of(name, names)
			if m.First(Hash("job"), tick, "a") {
				first++
			}
		}
		if first != 1 {
			t.Fatalf("%d of the living nodes come first for tick %d, want one", first, tick)
		}
	}
}

// A node that is not on the list yet still has a share of its own.
func TestShareOfAnUnknownNode(t *testing.T) {
	t.Parallel()
	m := Of("new", []string{"a", "b"})
	first := 0
	for tick := range int64(3000) {
		if m.First(Hash("job"), tick, "") {
			first++
		}
	}
	if first < 800 || first > 1200 {
		t.Errorf("first for %d of 3000 ticks, want a third", first)
	}
}

// A forged list of nodes costs no more than a long one.
func TestForgedList(t *testing.T) {
	t.Parallel()
	nodes := make([]string, 300_000)
	for i := range nodes {
		nodes[i] = fmt.Sprint("forged", i)
	}
	began := time.Now()
	m, other := Of("a", nodes), Of("b", nodes)
	if m.Joined(&m) || !m.Joined(&Nodes{}) || len(m.hashes) > maxNodes+1 || !slices.Contains(m.hashes, m.self) {
		t.Errorf("%d members, more than before: %v", len(m.hashes), m.Joined(&m))
	}
	differ := 0
	for _, h := range m.hashes {
		if !slices.Contains(other.hashes, h) {
			differ++
		}
	}
	if differ > 1 {
		t.Errorf("two nodes take %d different ones", differ)
	}
	for tick := range int64(1024) {
		m.First(1, tick, "")
	}
	if took := time.Since(began); took > 10*time.Second { // it took 22 s to compare two lists
		t.Errorf("it took %v", took)
	}
}

// Without a node that died, another node is first for its ticks, and nothing changes for the other
// ticks.
func TestShareOfADeadNode(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	of := func(tick int64, without string) (first []string) {
		for _, n := range names {
			m := Of(n, names)
			if n != without && m.First(7, tick, without) {
				first = append(first, n)
			}
		}
		return first
	}
	for tick := range int64(300) {
		owner := of(tick, "")
		for _, dead := range names {
			now := of(tick, dead)
			if len(owner) != 1 || len(now) != 1 || owner[0] != dead && now[0] != owner[0] {
				t.Fatalf("tick %d is the share of %q, without %s of %q", tick, owner, dead, now)
			}
		}
	}
}

// Among includes the requested number of nodes, with any node left out, and the first of all is one
// of them.
func TestAmong(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e"}
	for tick := range int64(200) {
		for most := 1; most <= 5; most++ {
			among := 0
			for _, name := range names[1:] {
				m := Of(name, names)
				if m.Among(most, 7, tick, "a") {
					among++
				} else if m.First(7, tick, "a") {
					t.Errorf("%s comes first and is not among %d", name, most)
				}
			}
			if among != min(most, 4) {
				t.Errorf("%d nodes are among the first %d", among, most)
			}
		}
	}
}
