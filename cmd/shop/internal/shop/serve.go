package shop

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/health"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/metrics"
)

// Serve runs a node with the jobs of the shop until ctx ends, and serves the sale once the node is
// ready: only then is it known that Redis answers and is configured safely. It serves its health from the
// beginning.
func Serve(ctx context.Context, f *settings.File, stdout, stderr io.Writer) error {
	command.OutlivePipes()
	log, flush := terminal.NewLogger(f.Log.Level, f.Log.Format, stderr)
	defer flush()
	f.OnPlaintext(func(path, text string) {
		log.Warn("secret in plain text", slog.String("setting", path), slog.String("text", text))
	})
	f.OnStale(func(err error) { log.Warn("secret not read again", slog.String("err", err.Error())) })
	command.LogVariables(&f.Config, log)
	client, err := clients.Redis(&f.Config)
	if err != nil {
		return err
	}
	defer client.Close()
	store, err := clients.RedisDriver(&f.Config, client)
	if err != nil {
		return err
	}
	s, err := Open(f, client, true)
	if err != nil {
		return err
	}
	defer s.Close()
	jobs, err := s.jobs(f, stdout, client)
	if err != nil {
		return command.ConfigError(err)
	}
	if err := s.readTokens(f, log); err != nil {
		return err
	}
	measured := metrics.New()
	node, err := newNode(f, store, jobs, measured, log)
	if err != nil {
		return err
	}
	log = log.With(slog.String("node", node.ID()))
	served, err := health.Serve("http", f.HTTP, health.Handler(node.Ready, func() []string { return append(node.Remarks(), s.remarks()...) }, s.metricsHandler(measured)), "health served", log)
	if err != nil {
		return err
	}
	defer served.Stop()
	receipts, err := serveReceipts(f, client, log)
	if err != nil {
		return err
	}
	defer receipts.Stop()
	return s.run(ctx, node, log)
}

func newNode(f *settings.File, store scheduler.Store, jobs []scheduler.Job, measured *metrics.Metrics, log *slog.Logger) (*scheduler.Node, error) {
	t := &f.Scheduler
	zone, _ := config.ParseZone(f.Zone) // which is checked
	node, err := scheduler.New(scheduler.Config{
		Name: f.Name, Zone: zone, Store: store, Jobs: jobs, Logger: log, Observers: []scheduler.Observer{measured},
		Concurrency: t.Concurrency, Grace: time.Duration(t.Grace), CancelGrace: time.Duration(t.CancelGrace),
		Spread: time.Duration(t.Spread), StoreTimeout: time.Duration(t.StoreTimeout), ClockWarn: time.Duration(t.ClockWarn),
	})
	if err != nil {
		return nil, command.ConfigError(f.Locate(err))
	}
	return node, nil
}

// metricsHandler serves the metrics of the process, of its node, and of the shop.
func (s *Shop) metricsHandler(node prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), node)
	registry.MustRegister(s.collectors()...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * scrapeTime})
}
