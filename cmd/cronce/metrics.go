package main

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cronce/cronce/jobs/stock"
)

// scrapeTime bounds what a scrape waits for the store.
const scrapeTime = time.Second

// metricsHandler serves /metrics: what the process and its node measure, and its shop, if it
// has one.
func metricsHandler(node prometheus.Collector, s *shop) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), node)
	if s.sale != nil {
		registry.MustRegister(newShopMetrics(s), newBookMetrics(s))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * scrapeTime})
}

// shopMetrics are those of a shop, read when they are scraped. A store that does not answer
// leaves all out that it would say: no number is an old one.
type shopMetrics struct {
	sale    *stock.Sale
	handler *atomic.Pointer[stock.Handler] // nil in it until the shop is served
	skus    []string                       // of which the stock is shown; none: all, if they are few

	up, known, left, products, closed, unsettled, lag, totals, shed, requests, lost *prometheus.Desc
}

func shopDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cronce_shop_"+name, help, labels, nil)
}

func newShopMetrics(s *shop) *shopMetrics {
	return &shopMetrics{
		sale: s.sale, handler: &s.served, skus: s.measured,
		up:        shopDesc("up", "Whether the store has answered this scrape."),
		known:     shopDesc("stock_known", "Whether the store has what the book has: otherwise nothing is sold."),
		left:      shopDesc("stock_left", "What can be ordered of a product; absent while it is not known, or closed.", "sku"),
		products:  shopDesc("products", "How many products there are."),
		closed:    shopDesc("products_closed", "Products that are not sold, since their books do not balance."),
		unsettled: shopDesc("orders_unsettled", "Orders whose state the database does not have yet."),
		lag:       shopDesc("settle_lag_seconds", "Age of the oldest order that is unsettled."),
		totals:    shopDesc("products_unsettled", "Products whose total, price or deletion waits for the job that settles."),
		shed:      shopDesc("requests_shed_total", "Requests of this node that were refused since too many were under way."),
		lost:      shopDesc("orders_lost_total", "Orders that this node has acknowledged, and logged as lost."),
		requests:  shopDesc("requests_total", "Requests that this node has answered.", "code"),
	}
}

// Describe is for the registry.
func (m *shopMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.known, m.left, m.products, m.closed, m.unsettled, m.lag, m.totals, m.shed, m.requests, m.lost} {
		to <- d
	}
}

// Collect reads the store once, for at most scrapeTime.
func (m *shopMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	counter(m.lost, m.sale.Lost())
	if h := m.handler.Load(); h != nil {
		counts := h.Counts()
		counter(m.shed, counts.Shed)
		for code, n := range counts.Codes {
			counter(m.requests, n, strconv.Itoa(code))
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
	defer stop()
	f, err := m.sale.Figures(ctx, m.skus...)
	if err != nil {
		gauge(m.up, 0) // and readyz says why
		return
	}
	gauge(m.up, 1)
	gauge(m.known, zeroOrOne(f.Stock != nil))
	gauge(m.products, float64(f.Products))
	gauge(m.closed, float64(f.Closed))
	gauge(m.unsettled, float64(f.Unsettled))
	gauge(m.lag, f.Lag.Seconds())
	gauge(m.totals, float64(f.Totals))
	for sku, left := range f.Stock {
		gauge(m.left, float64(left), sku)
	}
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
