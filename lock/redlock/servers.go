package redlock

import (
	"iter"
	"math/bits"
)

// servers are some of the Driver's nodes: one bit for each.
type servers uint8

func (s servers) has(i int) bool { return s&(1<<i) != 0 }
func (s servers) count() int     { return bits.OnesCount8(uint8(s)) }

// each are the numbers of the nodes.
func (s servers) each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros8(uint8(s))) {
				return
			}
		}
	}
}

// all are the nodes of the Driver.
func (d *Driver) all() servers { return 1<<len(d.nodes) - 1 }

// first are those that a key is asked for first: a majority, the same for all who
// ask for the key, so that they meet there and what is remembered of its fence
// agrees. One that is silent is passed over while there are enough others.
func (d *Driver) first(key string) servers {
	hash := uint32(2166136261) // FNV-1a
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	start := int(hash % uint32(len(d.nodes)))
	var well, silent servers
	for k := range d.nodes {
		i := (start + k) % len(d.nodes)
		if d.nodes[i].running.Load() {
			silent |= 1 << i
		} else if well |= 1 << i; well.count() == d.majority {
			return well
		}
	}
	for i := range silent.each() {
		if well |= 1 << i; well.count() == d.majority {
			break
		}
	}
	return well
}
