// Package rendezvous selects the node that is first for a tick, without any communication between
// nodes. It uses rendezvous hashing (Thaler and Ravishankar, 1998) of job, tick and node. The
// choice only spreads work: a wrong list of nodes costs a moment, but never loses or duplicates a
// tick.
package rendezvous

import (
	"cmp"
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

// Hash returns the hash of the name of a job or a node.
func Hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return Mix(h.Sum64())
}

// Nodes is one node's view of the nodes last seen alive. It is immutable.
type Nodes struct {
	self   uint64
	hashes []uint64 // of all nodes, including self, sorted
	names  []string // of the nodes, including self, in no order
}

// maxNodes bounds the number of nodes that share the work, because First compares each tick with
// all of them. Of a longer list, which may be forged, all nodes use the same part.
const maxNodes = 1000

// Of returns the nodes with these names, as the node self sees them. The result includes self
// whether it is listed or not.
func Of(self string, names []string) Nodes {
	n := Nodes{self: Hash(self), hashes: make([]uint64, 0, len(names)+1), names: append(slices.Clone(names[:min(len(names), maxNodes)]), self)}
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

// Count returns the number of nodes.
func (n *Nodes) Count() int { return len(n.hashes) }

// Names returns the names of the nodes. This node's name is the last, and may stand among the others too.
func (n *Nodes) Names() []string { return n.names }

// Self reports whether name is this node's name.
func (n *Nodes) Self(name string) bool { return Hash(name) == n.self }

// Joined reports whether one of the nodes is not in the earlier list.
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

// First reports whether this node is first for a tick, in Unix milliseconds, of the job with this
// hash. The node without is not counted; "" excludes no node.
func (n *Nodes) First(job uint64, tick int64, without string) bool {
	return n.Among(1, job, tick, without)
}

// FirstOf returns the first most nodes for a key, as this node sees them, without their names. This node
// need not be one of them: see Has.
func (n *Nodes) FirstOf(most int, key uint64) Nodes {
	hashes := slices.Clone(n.hashes)
	slices.SortFunc(hashes, func(a, b uint64) int { return cmp.Compare(Mix(key^b), Mix(key^a)) })
	hashes = slices.Clip(hashes[:min(len(hashes), most)])
	slices.Sort(hashes)
	return Nodes{self: n.self, hashes: hashes}
}

// Has reports whether this node is one of the nodes.
func (n *Nodes) Has() bool {
	_, found := slices.BinarySearch(n.hashes, n.self)
	return found
}

// Draw returns a number from 0 to below. A key gives each node another one.
func (n *Nodes) Draw(key uint64, below int) int { return int(Mix(key^n.self) % uint64(below)) }

// Among reports whether this node is among the first most nodes for a tick; see First.
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
