package scheduler

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// A monitor notes for all parts of a node which parts of the store answer, and logs what
// is down and that all is back.
type monitor struct {
	*health.Health
	events *events
	early  signal.Signal // raised when the list of nodes should be read before its time
}

// Answered notes that a part of the store answered, or why it did not, and logs what is due.
func (m *monitor) Answered(p health.Part, err error) {
	now := time.Now()
	if m.Health.Answered(p, err, now) {
		m.early.Raise()
	}
	m.log(now)
}

// EndAnswered is Answered for requests that end runs.
func (m *monitor) EndAnswered(shard int, err error) {
	m.Answered(health.Part{Shard: shard, Kind: health.Ends}, err)
}

// log logs what is down if that is due, and that all is back.
func (m *monitor) log(now time.Time) {
	switch down, back := m.Report(now); {
	case back:
		m.events.storeBack()
	case len(down) > 0:
		m.events.storeUnreachable(down[0].Err, m.Name(down))
	}
}

// maintain logs what is due about the store and about runs whose contexts have ended.
func (n *Node) maintain(now time.Time) {
	n.runs.Inspect(now)
	n.monitor.log(now)
}
