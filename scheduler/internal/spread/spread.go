// Package spread divides the shards of a sharded job among the nodes, without any communication
// between nodes. Each node computes the same table from the same list of nodes. The table only
// spreads work: the store grants the shards, so a wrong list of nodes costs a moment, but never loses
// a shard or runs it twice.
//
// A shard's first choice is the node with the highest hash of job, shard and node (rendezvous hashing:
// Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998) among the nodes that
// still have fewer shards than their limit (bounded loads: Mirrokni, Thorup and Zadimoghaddam,
// "Consistent Hashing with Bounded Loads", 2016). The limits here add up to the number of shards, so
// two nodes differ by one shard at most. For that, more shards move than the departed node had: when
// one of 10 nodes leaves, 16 of 100 shards on average get another first choice.
package spread

import (
	"cmp"
	"slices"

	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// Table is how the shards of a job are divided, as one node sees it. Callers that share a table do not
// change it.
type Table struct {
	// First has the name of the node that is each shard's first choice.
	First []string
	// Own has the shards whose first choice is the asking node, in ascending order. The node asks
	// for them at the tick.
	Own []int
	// Others has all other shards, in the order in which the asking node asks for them later. The
	// order differs from node to node, so that two idle nodes rarely ask for the same shard first.
	Others []int
}

// node is one node while the shards are divided.
type node struct {
	name string
	hash uint64 // of the name
	rank uint64 // of the node in this job: the highest ranks get the shards that do not divide evenly
	free int    // how many shards it may still get
}

// Of returns the table of a job with this many shards over these nodes, for the node self that asks.
// The order of the nodes and repeated names change nothing. The asking node lives, so it counts as one
// of the nodes whether it is listed or not. Without shards, or with a negative number, the table is
// empty.
//
// The time grows with shards × min(shards, nodes), so a caller keeps the table until the job's shards or
// the nodes change.
func Of(job string, shards int, nodes []string, self string) Table {
	shards = max(shards, 0)
	hash := rendezvous.Hash(job)
	t := Table{First: make([]string, shards)}
	divide(t.First, hash, ranked(hash, shards, nodes, self))
	t.Own, t.Others = order(t.First, hash, self)
	return t
}

// ranked returns the nodes that get shards, each once, by falling rank, with the number of shards that
// each of them gets.
func ranked(job uint64, shards int, names []string, self string) []node {
	nodes := make([]node, 0, len(names)+1)
	add := func(name string) {
		h := rendezvous.Hash(name)
		nodes = append(nodes, node{name: name, hash: h, rank: rendezvous.Mix(key(job, -1) ^ h)}) // no shard is -1
	}
	for _, name := range names {
		add(name)
	}
	add(self)
	slices.SortFunc(nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.name, b.name))
	})
	nodes = slices.CompactFunc(nodes, func(a, b node) bool { return a.name == b.name })
	nodes = nodes[:min(len(nodes), shards)] // the others get none
	for i := range nodes {
		nodes[i].free = shards / len(nodes)
		if i < shards%len(nodes) {
			nodes[i].free++
		}
	}
	return nodes
}

// divide sets the first choice of each shard, and uses up the nodes. They may get as many shards as there
// are. Of equal hashes the higher rank is chosen.
func divide(first []string, job uint64, nodes []node) {
	for shard := range first {
		k, best, highest := key(job, shard), 0, uint64(0)
		for i := range nodes {
			if h := rendezvous.Mix(k ^ nodes[i].hash); h > highest {
				best, highest = i, h
			}
		}
		first[shard] = nodes[best].name
		if nodes[best].free--; nodes[best].free == 0 {
			nodes = slices.Delete(nodes, best, best+1)
		}
	}
}

// order returns the shards whose first choice is self, ascending, and the others by falling hash of
// job, shard and self.
func order(first []string, job uint64, self string) (own, others []int) {
	others = make([]int, 0, len(first))
	for shard, name := range first {
		if name == self {
			own = append(own, shard)
		} else {
			others = append(others, shard)
		}
	}
	node := rendezvous.Hash(self)
	slices.SortFunc(others, func(a, b int) int {
		return cmp.Or(cmp.Compare(rendezvous.Mix(key(job, b)^node), rendezvous.Mix(key(job, a)^node)), cmp.Compare(a, b))
	})
	return own, others
}

// key returns the part of the hash of job, shard and node that is the same for all nodes: the hash is
// Mix(key ^ hash of the node).
func key(job uint64, shard int) uint64 { return job ^ rendezvous.Mix(uint64(shard)) }
