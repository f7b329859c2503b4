package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/listen"
	"github.com/cronce/cronce/cmd/cronce/internal/shop"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/sms"
)

// A sideServer serves the health of a node, or its receipts.
type sideServer struct {
	server  *http.Server
	serving sync.WaitGroup
}

// serveHealth serves /healthz, /readyz and /metrics. /healthz only reports that the process is
// alive, so that an outage of the store does not restart the node. /readyz returns the result of
// ready, followed by remarks about parts of the node. The result is never nil, even if no address
// is configured.
func serveHealth(c config.HTTP, ready func() error, remarks func() []string, metrics http.Handler, log *slog.Logger) (*sideServer, error) {
	return serve("http", c, HealthHandler(ready, remarks, metrics), "health served", log)
}

// serve serves at the address of a section of the file until stop.
func serve(path string, c config.HTTP, handler http.Handler, message string, log *slog.Logger) (*sideServer, error) {
	if c.Off() {
		return &sideServer{}, nil
	}
	listener, err := listen.Listen(c.Address, listen.MaxHealthConnections)
	if err != nil {
		return nil, fmt.Errorf("%s.address: %w", path, err)
	}
	h := &sideServer{server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      7 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          terminal.ServerLog(log),
	}}
	h.serving.Go(func() { _ = h.server.Serve(listener) }) // until stop
	log.Info(message, slog.String("address", listener.Addr().String()))
	return h, nil
}

// HealthHandler serves /healthz, /readyz and /metrics.
func HealthHandler(ready func() error, remarks func() []string, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	answer := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n")
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, terminal.Printable(err.Error()))
			return
		}
		answer(w, http.StatusOK, terminal.PrintableText(strings.Join(append([]string{"ok"}, remarks()...), "\n")))
	})
	return mux
}

// stop ends the server and waits for its goroutines.
func (h *sideServer) stop() {
	if h.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = h.server.Close()
	}
	h.serving.Wait()
}

// serveReceipts serves receipts from the start of the node. While the Redis does not answer, each
// receipt is in doubt and the gateway sends it again. The result is never nil, even if no address
// is configured.
func serveReceipts(c *config.Config, client redis.Scripter, log *slog.Logger) (*sideServer, error) {
	at, r := c.Receipts()
	if r == nil || (config.HTTP{Address: r.Address}).Off() {
		return &sideServer{}, nil
	}
	token, err := c.SecretSource(at+".token", r.TokenFile, r.TokenEnv)
	if err == nil && token().Text() == "" {
		err = c.Fault(at+".token_env", "names a variable that is empty")
	}
	if err != nil {
		return nil, exit.Usage(err)
	}
	now := func() sms.Secret { return sms.Secret(token().Text()) }
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: c.Namespace})
	if err != nil {
		return nil, err
	}
	return serve(at, config.HTTP{Address: r.Address}, sms.NewReceipts(outbox, now, log), "receipts served", log)
}

// newStale returns the gauge that reports changed configuration files with faults.
func newStale() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: "cronce_config_stale",
		Help: "1 while the node runs an earlier configuration, because the files have faults now."})
}

// metricsHandler serves /metrics: the metrics of the process, of its node and configuration, and of
// its shop if it has one.
func metricsHandler(node, stale prometheus.Collector, s *shop.Shop) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), node, stale)
	registry.MustRegister(s.Collectors()...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * shop.ScrapeTime})
}
