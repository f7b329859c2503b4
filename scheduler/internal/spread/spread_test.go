package spread_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/scheduler/internal/spread"
)

func ExampleOf() {
	nodes := []string{"node-a", "node-b", "node-c"}
	for _, self := range nodes {
		table := spread.Of("report", 8, nodes, self)
		fmt.Println(self, "asks for", table.Own, "and later for", table.Others)
	}
	// Output:
	// node-a asks for [4 6 7] and later for [0 1 3 5 2]
	// node-b asks for [2 3 5] and later for [7 0 6 1 4]
	// node-c asks for [0 1] and later for [7 2 6 5 3 4]
}

// The hash never changes: nodes of different versions compute the same table. An independent program
// computed these.
func TestGolden(t *testing.T) {
	t.Parallel()
	table := spread.Of("report", 12, []string{"node-a", "node-b", "node-c", "node-d", "node-e"}, "node-b")
	if got, want := strings.ReplaceAll(strings.Join(table.First, ""), "node-", ""), "ccbdabdeeeaa"; got != want {
		t.Errorf("first choices %s, want %s", got, want)
	}
	if want := []int{2, 5}; !slices.Equal(table.Own, want) {
		t.Errorf("own %v, want %v", table.Own, want)
	}
	if want := []int{11, 7, 8, 0, 6, 1, 3, 4, 10, 9}; !slices.Equal(table.Others, want) {
		t.Errorf("others %v, want %v", table.Others, want)
	}
}

// The asking node is one of the nodes whether it is listed or not.
func TestLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shards int
		nodes  string
		first  string
		own    []int
		others []int
	}{
		{-1, "a b", "", nil, nil},
		{0, "a b", "", nil, nil},
		{3, "", "aaa", []int{0, 1, 2}, nil},
		{3, "a", "aaa", []int{0, 1, 2}, nil},
		{3, "a a a", "aaa", []int{0, 1, 2}, nil},
		{5, "b", "baaab", []int{1, 2, 3}, []int{0, 4}},
		{5, "a b", "baaab", []int{1, 2, 3}, []int{0, 4}},
		{5, "b a b", "baaab", []int{1, 2, 3}, []int{0, 4}},
	} {
		table := spread.Of("report", c.shards, strings.Fields(c.nodes), "a")
		if got := strings.Join(table.First, ""); got != c.first || !slices.Equal(table.Own, c.own) || !slices.Equal(table.Others, c.others) {
			t.Errorf("%d shards over %q: first choices %q, own %v, others %v, want %q, %v, %v",
				c.shards, c.nodes, got, table.Own, table.Others, c.first, c.own, c.others)
		}
	}
}

// Each shard has one of the nodes as its first choice, and two nodes differ by one shard at most.
func TestLoadsDifferByOneAtMost(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for shards := range 201 {
		for count := 1; count <= 20; count++ {
			nodes := names(random, count)
			check(t, spread.Of(fmt.Sprint("job", shards), shards, nodes, nodes[0]), shards, nodes, nodes[0])
		}
	}
}

// check reports an error unless the table gives each shard to one of the nodes, evenly, and its orders
// have each shard once.
func check(t *testing.T, table spread.Table, shards int, nodes []string, self string) {
	t.Helper()
	loads := map[string]int{self: 0}
	for _, n := range nodes {
		loads[n] = 0
	}
	count := len(loads)
	for _, n := range table.First {
		loads[n]++
	}
	if len(table.First) != max(shards, 0) || len(loads) != count {
		t.Errorf("%d of %d shards have a first choice, %d nodes do not live", len(table.First), shards, len(loads)-count)
	}
	for n, load := range loads {
		if load < len(table.First)/count || load > (len(table.First)+count-1)/count {
			t.Errorf("%q, one of %d nodes, has %d of %d shards", n, count, load, shards)
		}
	}
	asked := make([]bool, len(table.First))
	for i, shard := range slices.Concat(table.Own, table.Others) {
		if own := i < len(table.Own); asked[shard] || own != (table.First[shard] == self) {
			t.Errorf("%q asks for shard %d, whose first choice is %q, own %v, asked before %v", self, shard, table.First[shard], own, asked[shard])
		}
		asked[shard] = true
	}
	if !slices.IsSorted(table.Own) || slices.Contains(asked, false) {
		t.Errorf("own %v, others %v, want all of %d shards, own ones sorted", table.Own, table.Others, shards)
	}
}

// Each node has the same first choices, from the list in any order.
func TestNodesAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	for shards := 1; shards <= 200; shards += 7 {
		nodes := names(random, 1+random.IntN(20))
		want := spread.Of("report", shards, nodes, nodes[0]).First
		for _, self := range nodes {
			shuffled := slices.Concat(nodes, nodes[:random.IntN(len(nodes))])
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := spread.Of("report", shards, shuffled, self).First; !slices.Equal(got, want) {
				t.Fatalf("%s has first choices %q, another node %q", self, got, want)
			}
		}
	}
}

// Two nodes whose names have the same hash are two nodes, in the same order for each node.
func TestEqualHashes(t *testing.T) {
	t.Parallel()
	nodes := []string{"8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ", "node"} // the first two have the same FNV-1a hash
	reversed := []string{nodes[2], nodes[1], nodes[0], nodes[1], nodes[0]}
	for shards := range 20 {
		table := spread.Of("report", shards, nodes, nodes[0])
		check(t, table, shards, nodes, nodes[0])
		if got := spread.Of("report", shards, reversed, nodes[1]).First; !slices.Equal(got, table.First) {
			t.Errorf("%s has first choices %q, another node %q", nodes[1], got, table.First)
		}
	}
}

// When a node leaves, or comes, most shards stay where they are.
func TestMostShardsStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shards, nodes, draws int
		most                 int
		mean                 float64
	}{
		{100, 10, 2000, 25, 17}, // the departed node had 10
		{1000, 10, 100, 140, 120},
		{20, 10, 2000, 10, 5},
		{5, 10, 2000, 5, 1.5},
	} {
		random := rand.New(rand.NewPCG(3, 3))
		most, sum := 0, 0
		for d := range c.draws {
			nodes, job := names(random, c.nodes), fmt.Sprint("job", d)
			before := spread.Of(job, c.shards, nodes, nodes[1]).First
			after := spread.Of(job, c.shards, nodes[1:], nodes[1]).First
			moved := 0
			for i := range before {
				if before[i] != after[i] {
					moved++
				}
			}
			most, sum = max(most, moved), sum+moved
		}
		mean := float64(sum) / float64(c.draws)
		t.Logf("%d shards over %d nodes: up to %d shards move, mean %.1f", c.shards, c.nodes, most, mean)
		if most > c.most || mean > c.mean {
			t.Errorf("%d shards over %d nodes: up to %d shards move, mean %.1f, want %d and %.1f at most", c.shards, c.nodes, most, mean, c.most, c.mean)
		}
	}
}

// The shards that do not divide evenly go to other nodes in each job.
func TestRemainders(t *testing.T) {
	t.Parallel()
	nodes := names(rand.New(rand.NewPCG(4, 4)), 10)
	loads := map[string]int{}
	const draws = 2000
	for d := range draws {
		loads[spread.Of(fmt.Sprint("job", d), 1, nodes, nodes[0]).First[0]]++
	}
	for _, n := range nodes {
		if loads[n] < draws/10*8/10 || loads[n] > draws/10*12/10 {
			t.Errorf("%s has the shard of %d of %d jobs, want about a tenth", n, loads[n], draws)
		}
	}
}

// Two nodes rarely ask for the same shard first when they have done their own.
func TestOthersDiffer(t *testing.T) {
	t.Parallel()
	nodes := names(rand.New(rand.NewPCG(5, 5)), 10)
	same, pairs := 0, 0
	for d := range 100 {
		var asked []int
		for _, self := range nodes {
			next := spread.Of(fmt.Sprint("job", d), 100, nodes, self).Others[0]
			for _, a := range asked {
				if pairs++; a == next {
					same++
				}
			}
			asked = append(asked, next)
		}
	}
	t.Logf("%d of %d pairs of nodes ask for the same shard", same, pairs)
	if same > pairs/40 {
		t.Errorf("%d of %d pairs of nodes ask for the same shard, want one in 40 at most", same, pairs)
	}
}

// Of more nodes than shards, as a forged list may have, each node gets one shard at most.
func TestMoreNodesThanShards(t *testing.T) {
	t.Parallel()
	nodes := names(rand.New(rand.NewPCG(6, 6)), 30_000)
	check(t, spread.Of("report", 1000, nodes, "self"), 1000, nodes, "self")
}

func FuzzOf(f *testing.F) {
	f.Add("report", 8, "node-a node-b node-c", "node-a")
	f.Add("", -1, "", "")
	f.Add("a", 1000, "a a b", "c")
	f.Fuzz(func(t *testing.T, job string, shards int, list, self string) {
		shards %= 1001
		nodes := strings.Split(list, " ")
		check(t, spread.Of(job, shards, nodes, self), shards, nodes, self)
	})
}

func BenchmarkOf(b *testing.B) {
	nodes := names(rand.New(rand.NewPCG(7, 7)), 1000)
	for _, c := range []struct{ shards, nodes int }{{100, 10}, {1000, 1000}} {
		b.Run(fmt.Sprintf("shards=%d/nodes=%d", c.shards, c.nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				spread.Of("report", c.shards, nodes[:c.nodes], nodes[0])
			}
		})
	}
}

// names returns random names of nodes like those that pods have.
func names(random *rand.Rand, count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("pod-%d-%08x", i, random.Uint32())
	}
	return all
}
