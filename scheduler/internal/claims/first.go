package claims

import "github.com/cronce/cronce/scheduler/internal/rendezvous"

// The jobs of a large fleet are divided into bundles, of about bundled jobs each. The same node is first for all
// jobs of a bundle that are due at one instant: it claims them with one request, and many single ones would cost
// the store several times as much.
const (
	bundled    = 8
	bundlesMin = 16 // so that few jobs of long runs are spread over nodes too
	bundlesMax = 4096
)

// bundles remember for which bundles this node is first.
type bundles []struct {
	tick  int64
	first bool
}

// first reports whether this node is first for a tick.
func (c *Claims) first(t *dueTick) bool {
	if c.nodes.Count() <= largeFleet {
		return c.nodes.First(t.e.Hash, t.Number, "")
	}
	if c.bundles == nil {
		n := bundlesMin
		for n < bundlesMax && n*bundled < c.entries.Size() {
			n *= 2
		}
		c.bundles = make(bundles, n)
	}
	bundle := t.e.Hash % uint64(len(c.bundles))
	b := &c.bundles[bundle]
	if b.tick != t.Number {
		b.tick, b.first = t.Number, c.nodes.First(rendezvous.Mix(bundle), t.Number, "")
	}
	return b.first
}
