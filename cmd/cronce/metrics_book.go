package main

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs/stock"
)

// bookMetrics are those that the database knows of a shop: the targets of its events, and its disputed
// orders. A database that does not answer leaves all out that it would say.
type bookMetrics struct {
	sale    *stock.Sale
	targets []string // of the configuration: one that was taken out of it is no longer waited for

	up, disputed, waiting, lag, aside *prometheus.Desc
}

func newBookMetrics(s *shop) *bookMetrics {
	return &bookMetrics{
		sale: s.sale, targets: s.targets,
		up:       shopDesc("database_up", "Whether the database has answered this scrape."),
		disputed: shopDesc("orders_disputed", "Orders that the store has accepted, and the database has otherwise: an operator is to decide about them."),
		waiting:  shopDesc("events_waiting", "Events that a target does not have yet.", "target"),
		lag:      shopDesc("events_lag_seconds", "Age of the oldest event that a target does not have yet.", "target"),
		aside:    shopDesc("events_aside", "Events that a target has refused, and that an operator is to decide about.", "target"),
	}
}

// Describe is for the registry.
func (m *bookMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.disputed, m.waiting, m.lag, m.aside} {
		to <- d
	}
}

// Collect asks the database two questions, for at most scrapeTime.
func (m *bookMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
	defer stop()
	all, err := m.sale.Targets(ctx)
	var disputed int64
	if err == nil {
		disputed, err = m.sale.CountDisputes(ctx)
	}
	gauge(m.up, zeroOrOne(err == nil))
	if err != nil {
		return
	}
	gauge(m.disputed, float64(disputed))
	for _, t := range all {
		if slices.Contains(m.targets, t.Name) {
			gauge(m.waiting, float64(t.Lag), t.Name)
			gauge(m.lag, t.Behind.Seconds(), t.Name)
			gauge(m.aside, float64(t.Aside), t.Name)
		}
	}
}
