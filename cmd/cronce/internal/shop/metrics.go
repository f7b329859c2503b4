package shop

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/jobs/stock"
)

// ScrapeTime bounds what a scrape waits for the store.
const ScrapeTime = time.Second

// Collectors are the metrics of a shop; none without one.
func (s *Shop) Collectors() []prometheus.Collector {
	if s.Sale == nil {
		return nil
	}
	return []prometheus.Collector{newShopMetrics(s), newBookMetrics(s)}
}

// shopMetrics are those of a shop, read when they are scraped. A store that does not answer
// leaves all out that it would say: no number is an old one.
type shopMetrics struct {
	sale    *stock.Sale
	handler *atomic.Pointer[stock.Handler] // nil in it until the shop is served
	skus    []string                       // of which the stock is shown; none: all, if they are few

	up, known, left, products, closed, unsettled, lag, totals, shed, requests *prometheus.Desc
}

func shopDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cronce_shop_"+name, help, labels, nil)
}

func newShopMetrics(s *Shop) *shopMetrics {
	return &shopMetrics{
		sale: s.Sale, handler: &s.served, skus: s.measured,
		up:        shopDesc("up", "Whether the store has answered this scrape."),
		known:     shopDesc("stock_known", "Whether the store has what the book has: otherwise nothing is sold."),
		left:      shopDesc("stock_left", "What can be ordered of a product; absent while it is not known, or closed.", "sku"),
		products:  shopDesc("products", "How many products there are."),
		closed:    shopDesc("products_closed", "Products that are not sold, since their books do not balance."),
		unsettled: shopDesc("orders_unsettled", "Orders whose state the database does not have yet."),
		lag:       shopDesc("settle_lag_seconds", "Age of the oldest order that is unsettled."),
		totals:    shopDesc("products_unsettled", "Products whose total, price or deletion waits for the job that settles."),
		shed:      shopDesc("requests_shed_total", "Requests of this node that were refused since too many were under way."),
		requests:  shopDesc("requests_total", "Requests that this node has answered.", "code"),
	}
}

// Describe is for the registry.
func (m *shopMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.known, m.left, m.products, m.closed, m.unsettled, m.lag, m.totals, m.shed, m.requests} {
		to <- d
	}
}

// Collect reads the store once, for at most ScrapeTime.
func (m *shopMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	if h := m.handler.Load(); h != nil {
		counts := h.Counts()
		counter(m.shed, counts.Shed)
		for code, n := range counts.Codes {
			counter(m.requests, n, strconv.Itoa(code))
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), ScrapeTime)
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

// bookMetrics are those that the database knows of a shop: the targets of its events, and its disputed and
// lost orders. A database that does not answer leaves all out that it would say.
type bookMetrics struct {
	sale    *stock.Sale
	targets []string // of the configuration: one that was taken out of it is no longer waited for

	up, disputed, lost, waiting, lag, aside *prometheus.Desc
}

func newBookMetrics(s *Shop) *bookMetrics {
	return &bookMetrics{
		sale: s.Sale, targets: s.targets,
		up:       shopDesc("database_up", "Whether the database has answered this scrape."),
		disputed: shopDesc("orders_disputed", "Orders that the store has accepted, and the database has otherwise: an operator is to decide about them."),
		lost:     shopDesc("orders_lost", "Orders that were accepted, and that neither the store nor the database has as far."),
		waiting:  shopDesc("events_waiting", "Events that a target does not have yet.", "target"),
		lag:      shopDesc("events_lag_seconds", "Age of the oldest event that a target does not have yet.", "target"),
		aside:    shopDesc("events_aside", "Events that a target has refused, and that an operator is to decide about.", "target"),
	}
}

// Describe is for the registry.
func (m *bookMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.disputed, m.lost, m.waiting, m.lag, m.aside} {
		to <- d
	}
}

// Collect asks the database three questions, for at most ScrapeTime.
func (m *bookMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ctx, stop := context.WithTimeout(context.Background(), ScrapeTime)
	defer stop()
	all, err := m.sale.Targets(ctx)
	var disputed, lost int64
	if err == nil {
		disputed, err = m.sale.CountDisputes(ctx)
	}
	if err == nil {
		lost, err = m.sale.CountLost(ctx)
	}
	gauge(m.up, zeroOrOne(err == nil))
	if err != nil {
		return
	}
	gauge(m.disputed, float64(disputed))
	gauge(m.lost, float64(lost))
	for _, t := range all {
		if slices.Contains(m.targets, t.Name) {
			gauge(m.waiting, float64(t.Lag), t.Name)
			gauge(m.lag, t.Behind.Seconds(), t.Name)
			gauge(m.aside, float64(t.Aside), t.Name)
		}
	}
}
