package node

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newStale returns the gauge that says that the files of the configuration were changed and have faults.
func newStale() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: "cronce_config_stale",
		Help: "1 while the node runs an earlier configuration, because the files have faults now."})
}

// metricsHandler serves /metrics: the metrics of the process, of its node and of its configuration.
func metricsHandler(node, stale prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), node, stale)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
