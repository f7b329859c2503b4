package metrics

import (
	"errors"
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// counted are the metrics that events change.
func (m *Metrics) counted() []prometheus.Collector {
	return []prometheus.Collector{
		m.runs, m.divided, m.missed, m.skipped, m.storeEvents, m.takeovers, m.tries, m.late, m.lost, m.clockSteps, m.unreplicated, m.dropped,
		m.lateness, m.duration,
	}
}

// Describe is for the registry.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.counted() {
		c.Describe(to)
	}
	for _, d := range []*prometheus.Desc{m.ready, m.alive, m.slots, m.ignoring, m.offset, m.claims, m.requests, m.renewals, m.linesLost, m.outputsLost} {
		to <- d
	}
}

// Collect is for the registry. It asks the store nothing.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.counted() {
		c.Collect(to)
	}
	node := m.node.Load()
	if node == nil {
		to <- prometheus.NewInvalidMetric(m.ready, errors.New("metrics: they measure no node: put them into its Config.Observers"))
		return
	}
	gauge := func(d *prometheus.Desc, v float64) { to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	s := node.Stats()
	gauge(m.ready, zeroOrOne(node.Ready() == nil))
	gauge(m.alive, float64(s.Runs))
	gauge(m.slots, slots(s.Slots))
	gauge(m.ignoring, float64(s.IgnoringContext))
	to <- prometheus.MustNewConstMetric(m.linesLost, prometheus.CounterValue, float64(s.LinesLost))
	to <- prometheus.MustNewConstMetric(m.outputsLost, prometheus.CounterValue, float64(s.OutputsLost))
	if s.ClockKnown {
		gauge(m.offset, s.ClockOffset.Seconds())
	}
	for answer, count := range s.Claims {
		to <- prometheus.MustNewConstMetric(m.claims, prometheus.CounterValue, float64(count), answer)
	}
	for result, count := range s.Renewals {
		to <- prometheus.MustNewConstMetric(m.renewals, prometheus.CounterValue, float64(count), result)
	}
	for _, r := range s.Requests {
		to <- prometheus.MustNewConstHistogram(m.requests, r.Count, r.Seconds, r.Within, r.Op, r.Result)
	}
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// slots returns infinity for a node without a bound.
func slots(n int) float64 {
	if n < 0 {
		return math.Inf(1)
	}
	return float64(n)
}
