// Package rendezvous picks, without any exchange between nodes, the node that comes
// first for a tick: rendezvous hashing (Thaler and Ravishankar, 1998) of job, tick and
// node. The choice only spreads work. A wrong list of nodes costs a moment, never a tick
// or a duplicate.
package rendezvous

import (
	"hash/fnv"
	"slices"
)

// Mix is the finalizer of SplitMix64: every bit of the result depends on every
// bit of x.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Hash is the hash of a name, of a job or of a node.
func Hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return Mix(h.Sum64())
}

// Nodes are the nodes last seen alive, as one of them sees them. They do not change.
type Nodes struct {
	self   uint64
	hashes []uint64 // of all, self included, sorted
}

// maxNodes bounds how many nodes share the work, because First compares each tick with
// all of them. Of a longer list, which may be forged, all nodes take the same part.
const maxNodes = 1000

// Of returns the nodes with these names as the node self sees them. Self belongs to them
// whether it is listed or not.
func Of(self string, names []string) Nodes {
	n := Nodes{self: Hash(self), hashes: make([]uint64, 0, len(names)+1)}
	for _, name := range names {
		n.hashes = append(n.hashes, Hash(name))
	}
	slices.Sort(n.hashes)
	n.hashes = slices.Clip(slices.Compact(n.hashes))
	n.hashes = n.hashes[:min(len(n.hashes), maxNodes)]
	if at, found := slices.BinarySearch(n.hashes, n.self); !found {
		n.hashes = slices.Insert(n.hashes, at, n.self)
	}
	return n
}

// Count returns how many nodes there are.
func (n *Nodes) Count() int { return len(n.hashes) }

// Self reports whether the name is that of this node.
func (n *Nodes) Self(name string) bool { return Hash(name) == n.self }

// Joined reports whether one of the nodes is not among the earlier ones.
func (n *Nodes) Joined(earlier *Nodes) bool {
	known := earlier.hashes
	for _, h := range n.hashes {
		for len(known) > 0 && known[0] < h {
			known = known[1:]
		}
		if len(known) == 0 || known[0] != h {
			return true
		}
	}
	return false
}

// First reports whether this node comes first for a tick, in Unix milliseconds, of the
// job with this hash. The node called without is left out; empty: none is.
func (n *Nodes) First(job uint64, tick int64, without string) bool {
	return n.Among(1, job, tick, without)
}

// Among reports whether this node is one of the first so many for a tick, as First.
func (n *Nodes) Among(most int, job uint64, tick int64, without string) bool {
	if len(n.hashes) <= most {
		return true
	}
	skip := uint64(0)
	if without != "" {
		skip = Hash(without)
	}
	key := job ^ Mix(uint64(tick))
	mine := Mix(key ^ n.self)
	for _, h := range n.hashes {
		if h != n.self && h != skip && Mix(key^h) > mine {
			if most--; most == 0 {
				return false
			}
		}
	}
	return true
}
