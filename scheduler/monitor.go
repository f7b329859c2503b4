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

// Answered notes that a part of the store answered, or why it did not, and writes the
// line that is due.
func (m *monitor) Answered(p health.Part, err error) {
	now := time.Now()
	m.note(p, err, now)
	if write := m.due(now); write != nil {
		write()
	}
}

// EndAnswered is Answered for the goroutine that sends the ends of runs. It does not wait
// for the logger, because the ends that it sends again would wait as well.
func (m *monitor) EndAnswered(shard int, err error) {
	now := time.Now()
	m.note(health.Part{Shard: shard, Kind: health.Ends}, err, now)
	if write := m.due(now); write != nil {
		m.events.Beside(write)
	}
}

func (m *monitor) note(p health.Part, err error, now time.Time) {
	if m.Health.Answered(p, err, now) {
		m.early.Raise()
	}
}

// due returns a function that writes the line which is due; nil: none is.
func (m *monitor) due(now time.Time) (write func()) {
	switch down, back := m.Report(now); {
	case back:
		return m.events.storeBack
	case len(down) > 0:
		return func() { m.events.storeUnreachable(down[0].Err, m.Name(down)) }
	}
	return nil
}

// maintain writes, without waiting for the logger, what the log is due about the store and
// about runs whose contexts have ended.
func (n *Node) maintain(now time.Time) {
	lines := n.runs.Inspect(now)
	if write := n.monitor.due(now); write != nil {
		lines = append(lines, write)
	}
	n.events.Beside(lines...)
}
