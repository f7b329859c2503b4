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
	hashes []uint64 // of all, self included
}

func membersOf(self string, nodes []string) members {
	m := members{self: hashOf(self)}
	found := false
	for _, n := range nodes {
		h := hashOf(n)
		found = found || h == m.self
		m.hashes = append(m.hashes, h)
	}
	if !found {
		m.hashes = append(m.hashes, m.self)
	}
	return m
}

// more reports whether there is one that is not among the old.
func (m *members) more(old *members) bool {
	return slices.ContainsFunc(m.hashes, func(h uint64) bool { return !slices.Contains(old.hashes, h) })
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
