package scheduler

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/bounded"
)

// What a node and the store disagree on is told by the rota: when a job's mark
// lies in the future of the store's clock, and when nodes have different specs
// for a job. Each is told once.

// note keeps what is to be told of a job. The node's mutex is held,
// until unlock.
func (n *Node) note(e *entry, s *driver.Series) {
	if s.Other != "" && n.differ[e] != s.Other {
		n.differ[e] = s.Other
		n.differing = append(n.differing, e)
	}
	if s.Mark > s.Now+maxSleep.Milliseconds() && n.ahead[e] != s.Mark {
		n.ahead[e] = s.Mark
		n.afterUnlock(func() { n.events.ahead(e.Job, s.Mark) })
	}
}

// compare warns of nodes with another spec for the same job, and names both specs.
func (n *Node) compare(ctx context.Context) {
	n.mu.Lock()
	es := n.differing
	n.differing = nil
	n.mu.Unlock()
	for _, e := range es {
		own, other := inZone(e.Spec.Text(), e.Spec.Zone().String()), n.otherSpec(ctx, e)
		if other == own {
			other += ", by another time zone database"
		}
		n.events.specsDiffer(e.Job, own, other)
	}
}

// otherSpec returns the spec of the other revision, or the revision if the store
// does not tell.
func (n *Node) otherSpec(ctx context.Context, e *entry) string {
	n.mu.Lock()
	other := n.differ[e]
	n.mu.Unlock()
	j, _ := bounded.Call(ctx, n.cfg.StoreTimeout, func(ctx context.Context) (driver.Journal, error) {
		return n.cfg.Store.Journal(ctx, e.Name, 1)
	})
	for _, r := range j.Revisions {
		if r.Revision == other {
			return inZone(r.Spec, r.Zone)
		}
	}
	return other
}

// inZone adds the zone, which a text that names none does not show.
func inZone(text, zone string) string { return text + " (" + zone + ")" }
