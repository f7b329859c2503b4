package scheduler

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Stats are what a node does at a moment, and has done since New.
type Stats struct {
	// Runs is how many runs have functions that have not returned, and IgnoringContext how
	// many of these go on CancelGrace after their context has ended.
	Runs            int
	IgnoringContext int
	// Slots is Config.Concurrency: how many runs this node has at once. Negative: no bound.
	Slots int
	// Claims is how many claims were answered, by the word for the answer: granted, passed,
	// held, skipped, waiting, missed, paused, and others. A claim in doubt is asked again: each
	// time counts as doubt. All words are there, those without a claim with 0.
	Claims map[string]int64
	// ClockOffset is how far this machine's clock is ahead of the store's. It is known once
	// ClockKnown is true.
	ClockOffset time.Duration
	ClockKnown  bool
}

// Stats returns what the node does at the moment. It asks the store nothing.
func (n *Node) Stats() Stats {
	s := Stats{Slots: n.cfg.Concurrency, Claims: map[string]int64{}, ClockKnown: n.clock.Ready()}
	if s.Slots == unbounded {
		s.Slots = -1
	}
	s.Runs, s.IgnoringContext = n.runs.Counts()
	for kind, count := range n.dispatcher.Answers() {
		s.Claims[driver.Kind(kind).String()] = count
	}
	if s.ClockKnown {
		s.ClockOffset = n.heart.Offset()
	}
	return s
}
