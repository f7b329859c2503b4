package scheduler

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/requests"
)

// Stats are the current state of a node, and its counts since New.
type Stats struct {
	// Runs is the number of runs whose functions have not returned, and IgnoringContext the number
	// of these that continue CancelGrace after their context has ended.
	Runs            int
	IgnoringContext int
	// Slots is Config.Concurrency, the number of runs that this node has at once. Negative: no
	// bound.
	Slots int
	// Claims is the number of answers to claims, by the word for the answer: granted, passed, held,
	// skipped, waiting, missed, paused, and others. A claim in doubt is repeated, and each time
	// counts as doubt. The map has every word, with 0 if there was no such answer.
	Claims map[string]int64
	// ClockOffset is how far this machine's clock is ahead of the store's. It is valid if
	// ClockKnown is true.
	ClockOffset time.Duration
	ClockKnown  bool
	// Requests counts the requests to the store, by kind (claim, peek, open, renew, end, beat,
	// clock, journal) and result: ok, or doubt if the store did not answer. It has every kind and
	// result, with 0 if there was no such request.
	Requests []RequestStats
	// Renewals is the number of leases that were renewed, lost, or in doubt after a request. One
	// request may renew many leases.
	Renewals map[string]int64
	// LinesLost is the number of log lines that were lost because the handler was too slow or
	// failed. EventsLost is the number of events that were lost, for all Observers together.
	LinesLost, EventsLost int64
	// OutputsLost is the number of outputs of runs that the store may not have kept: see
	// Run.KeepOutput.
	OutputsLost int64
}

// RequestStats are the requests of one kind with one result.
type RequestStats = requests.Measured

// Stats returns the current state of the node. It sends no request to the store.
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
	s.ClockOffset = n.heart.Offset()
	return s
}
