package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// For each tick a node claims its shards and asks once more, but for two nodes that look for shards that were given back. It does not
// ask again when the leases of an earlier tick end, since the tick after it was granted.
func TestClaimsOfShards(t *testing.T) {
	for name, overlap := range map[string]scheduler.Overlap{"skip": scheduler.OverlapSkip, "queue": scheduler.OverlapQueue, "replace": scheduler.OverlapReplace} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := share(t, scheduler.Job{Spec: "@every 2s", Shards: 20, Overlap: overlap, Lease: 3 * time.Second})
				c.work = takes(250 * time.Millisecond)
				for range 5 {
					c.start()
				}
				time.Sleep(2 * time.Minute)
				var asks int64
				for _, n := range c.nodes {
					asks += n.wire.asks.Load()
				}
				if most := int64(60 * (2*5 + 2)); asks > most {
					t.Errorf("%d claims for 60 ticks, want %d at most", asks, most)
				}
				c.end()
			})
		})
	}
}
