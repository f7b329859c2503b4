package scheduler

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/requests"
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
	// Requests are those to the store, each kind (claim, peek, open, renew, end, beat, clock,
	// journal) with each result: ok, or doubt if the store did not answer. All are there,
	// those without a request with 0.
	Requests []RequestStats
	// Renewals is how many leases of runs were renewed, lost, or in doubt after a request:
	// one request may renew many.
	Renewals map[string]int64
	// LinesLost is how many lines of the log were lost, because its handler was too slow for
	// them or failed. EventsLost is the same for events and the Observers, of all together.
	LinesLost, EventsLost int64
	// OutputsLost is how many outputs of runs the store was not known to keep: see Run.KeepOutput.
	OutputsLost int64
}

// RequestStats are the requests of one kind with one result.
type RequestStats = requests.Measured

// Stats returns what the node does at the moment. It asks the store nothing.
func (n *Node) Stats() Stats {
	s := Stats{
		Slots: n.cfg.Concurrency, Claims: map[string]int64{}, ClockKnown: n.clock.Ready(),
		Requests: n.requests.Requests(), Renewals: n.requests.Renewals(),
	}
	if s.Slots == unbounded {
		s.Slots = -1
	}
	s.Runs, s.IgnoringContext = n.runs.Counts()
	s.LinesLost, s.EventsLost = n.events.lost()
	s.OutputsLost = n.outputs.lost()
	for kind, count := range n.dispatcher.Answers() {
		s.Claims[series.Kind(kind).String()] = count
	}
	if s.ClockKnown {
		s.ClockOffset = n.heart.Offset()
	}
	return s
}
