package scheduler

import (
	"hash/fnv"
	"slices"
)

// mix is the finalizer of SplitMix64: every bit of the result depends on every
// bit of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return mix(h.Sum64())
}

// members are the nodes last seen alive. They only spread work: a wrong list
// costs a moment, never a tick.
type members struct {
	self   uint64
	hashes []uint64 // of all, self included, sorted
}

// maxMembers bounds how many nodes share the work: each tick is held against all of them.
// Of a longer list, which may be forged, all nodes take the same part.
const maxMembers = 1000

func membersOf(self string, nodes []string) members {
	m := members{self: hashOf(self), hashes: make([]uint64, 0, len(nodes)+1)}
	for _, n := range nodes {
		m.hashes = append(m.hashes, hashOf(n))
	}
	slices.Sort(m.hashes)
	m.hashes = slices.Clip(slices.Compact(m.hashes))
	m.hashes = m.hashes[:min(len(m.hashes), maxMembers)]
	if at, found := slices.BinarySearch(m.hashes, m.self); !found {
		m.hashes = slices.Insert(m.hashes, at, m.self)
	}
	return m
}

// more reports whether there is one that is not among the old.
func (m *members) more(old *members) bool {
	known := old.hashes
	for _, h := range m.hashes {
		for len(known) > 0 && known[0] < h {
			known = known[1:]
		}
		if len(known) == 0 || known[0] != h {
			return true
		}
	}
	return false
}

// first reports whether this node comes first for a tick by rendezvous hashing
// (Thaler and Ravishankar, 1998) among the nodes without one.
func (m *members) first(job uint64, tick int64, without string) bool {
	if len(m.hashes) == 1 {
		return true
	}
	skip := uint64(0)
	if without != "" {
		skip = hashOf(without)
	}
	key := job ^ mix(uint64(tick))
	mine := mix(key ^ m.self)
	for _, h := range m.hashes {
		if h != m.self && h != skip && mix(key^h) > mine {
			return false
		}
	}
	return true
}
