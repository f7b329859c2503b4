package main

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs/stock"
)

// eventMetrics are those of the targets of a shop's events, which the database knows. One that
// does not answer leaves all out that it would say.
type eventMetrics struct {
	sale    *stock.Sale
	targets []string // of the configuration: one that was taken out of it is no longer waited for

	up, waiting, lag, aside *prometheus.Desc
}

func newEventMetrics(s *shop) *eventMetrics {
	return &eventMetrics{
		sale: s.sale, targets: s.targets,
		up:      shopDesc("database_up", "Whether the database has answered this scrape."),
		waiting: shopDesc("events_waiting", "Events that a target does not have yet.", "target"),
		lag:     shopDesc("events_lag_seconds", "Age of the oldest event that a target does not have yet.", "target"),
		aside:   shopDesc("events_aside", "Events that a target has refused, and that an operator is to decide about.", "target"),
	}
}

// Describe is for the registry.
func (m *eventMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.waiting, m.lag, m.aside} {
		to <- d
	}
}

// Collect reads the database once, for at most scrapeTime.
func (m *eventMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
	defer stop()
	all, err := m.sale.Targets(ctx)
	gauge(m.up, zeroOrOne(err == nil))
	for _, t := range all {
		if slices.Contains(m.targets, t.Name) {
			gauge(m.waiting, float64(t.Lag), t.Name)
			gauge(m.lag, t.Behind.Seconds(), t.Name)
			gauge(m.aside, float64(t.Aside), t.Name)
		}
	}
}
