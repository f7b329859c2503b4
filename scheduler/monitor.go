package scheduler

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// A monitor records, for the parts of a node, which parts of the store answer. It logs the parts
// that are down, and logs when all are back.
type monitor struct {
	*health.Health
	events *events
	early  signal.Signal // raised when the list of nodes should be read before its time
}

// Answered records that a part of the store answered, or the error if it did not, and logs any due
// line.
func (m *monitor) Answered(p health.Part, err error) {
	now := time.Now()
	if m.Health.Answered(p, err, now) {
		m.early.Raise()
	}
	m.log(now)
}

// EndAnswered is Answered for the requests that end runs.
func (m *monitor) EndAnswered(partition int, err error) {
	m.Answered(health.Part{Partition: partition, Kind: health.Ends}, err)
}

// log logs the parts that are down if such a line is due, or that all are back.
func (m *monitor) log(now time.Time) {
	switch down, back := m.Report(now); {
	case back:
		m.events.storeBack()
	case len(down) > 0:
		m.events.storeUnreachable(down[0].Err, m.Name(down))
	}
}

// maintain logs the due lines about the store and about runs whose contexts have ended.
func (n *Node) maintain(now time.Time) {
	n.runs.Inspect(now)
	n.monitor.log(now)
}
