package shop

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// scrapeTime bounds the wait of a scrape for the store.
const scrapeTime = time.Second

// collectors returns the metrics of a shop.
func (s *Shop) collectors() []prometheus.Collector {
	return []prometheus.Collector{newShopMetrics(s), newBookMetrics(s), s.requests}
}

// shopMetrics are the metrics of a shop, read at each scrape. If the store does not answer, its
// metrics are absent, so that no value is stale.
type shopMetrics struct {
	sale    *stock.Sale
	handler *atomic.Pointer[stockhttp.Handler] // holds nil until the shop is served

	up, known, left, products, closed, unsettled, lag, totals, shed *prometheus.Desc
}

func shopDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cronce_shop_"+name, help, labels, nil)
}

// newRequests returns the metric of the requests by their status.
func newRequests() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cronce_shop_requests_total", Help: "Requests that this node has answered."}, []string{"code"})
}

func newShopMetrics(s *Shop) *shopMetrics {
	return &shopMetrics{
		sale: s.Sale, handler: &s.served,
		up:        shopDesc("up", "Whether the store has answered this scrape."),
		known:     shopDesc("stock_known", "Whether the store has everything that the book has: otherwise nothing is sold."),
		left:      shopDesc("stock_left", "Quantity of a product that can be ordered; absent while it is unknown, or the product is closed.", "sku"),
		products:  shopDesc("products", "Number of products."),
		closed:    shopDesc("products_closed", "Products that are not sold because their counts in the book do not balance."),
		unsettled: shopDesc("orders_unsettled", "Orders whose state the database lacks."),
		lag:       shopDesc("settle_lag_seconds", "Age of the oldest unsettled order."),
		totals:    shopDesc("products_unsettled", "Products whose total or price waits for the job settleOrders."),
		shed:      shopDesc("requests_shed_total", "Requests that this node refused because too many were being served."),
	}
}

// Describe implements [prometheus.Collector].
func (m *shopMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.known, m.left, m.products, m.closed, m.unsettled, m.lag, m.totals, m.shed} {
		to <- d
	}
}

// Collect reads the store once, for at most scrapeTime.
func (m *shopMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if h := m.handler.Load(); h != nil {
		to <- prometheus.MustNewConstMetric(m.shed, prometheus.CounterValue, float64(h.Shed()))
	}
	ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
	defer stop()
	f, err := m.sale.Figures(ctx)
	if err != nil {
		gauge(m.up, 0) // /readyz has the reason
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

// bookMetrics are the metrics from the database of a shop: its events. If the database does not
// answer, its metrics are absent.
type bookMetrics struct {
	sale  *stock.Sale
	posts bool // whether its events are posted: otherwise they have no metrics

	up, waiting, lag, skipped *prometheus.Desc
}

func newBookMetrics(s *Shop) *bookMetrics {
	return &bookMetrics{
		sale: s.Sale, posts: s.posts,
		up:      shopDesc("database_up", "Whether the database has answered this scrape."),
		waiting: shopDesc("events_waiting", "Events that the webhook does not have yet."),
		lag:     shopDesc("events_lag_seconds", "Age of the oldest event that the webhook does not have yet."),
		skipped: shopDesc("events_skipped_total", "Events that were skipped because they failed while the webhook accepted others."),
	}
}

// Describe implements [prometheus.Collector].
func (m *bookMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.waiting, m.lag, m.skipped} {
		to <- d
	}
}

// Collect sends one query to the database, for at most scrapeTime.
func (m *bookMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
	defer stop()
	events, err := m.sale.EventCursor(ctx)
	gauge(m.up, zeroOrOne(err == nil))
	if err != nil {
		return
	}
	if m.posts {
		gauge(m.waiting, float64(events.Waiting))
		gauge(m.lag, events.Behind.Seconds())
		to <- prometheus.MustNewConstMetric(m.skipped, prometheus.CounterValue, float64(events.Skipped))
	}
}
