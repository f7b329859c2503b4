// Package shop opens the sale of a configuration with its database, and serves it over HTTP beside a
// node that runs its jobs: buyers, sellers and payments, and its metrics.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/listen"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
	"github.com/cronce/cronce/scheduler"
)

// A Shop is a sale with its database.
type Shop struct {
	Sale     *stock.Sale
	database *stock.Database // the book of the sale
	db       *sql.DB
	address  string
	hosts    []string                      // host names that it accepts
	tokens   func(stockhttp.Role) []string // tokens by role; nil: every caller may do everything
	gate     stockhttp.Options             // HTTP options, without log and tokens
	requests *prometheus.CounterVec        // by status
	posts    bool                          // whether its events are posted
	served   atomic.Pointer[stockhttp.Handler]
}

// Open opens the shop of a configuration. It does not connect. Fresh permits a new SQLite file. The
// caller closes the shop.
func Open(f *settings.File, client redis.UniversalClient, fresh bool) (*Shop, error) {
	o := &f.Shop
	options := stock.Options{
		Namespace: f.Namespace, Name: o.Sale, Hold: time.Duration(settings.Value(o.Hold)), Retention: time.Duration(settings.Value(o.Retention)),
		Replicas: o.Replicas, ReplicaTimeout: time.Duration(settings.Value(o.ReplicaTimeout)), Restore: o.Restore == settings.RestoreAuto,
	}
	if o.Events != nil {
		options.EventRetention = time.Duration(settings.Value(o.Events.Retention))
	}
	if _, err := stock.NewSale(client, options); err != nil { // checked before a database is created
		return nil, exit.Usage(saleFaults(f, err))
	}
	db, dialect, err := openDatabase(f, fresh)
	if err != nil {
		return nil, exit.Usage(err)
	}
	s := &Shop{db: db, address: o.Address, hosts: o.ServedAs(), gate: o.Gate(), requests: newRequests(), posts: f.Webhook() != nil}
	if s.database, err = stock.NewDatabase(db, dialect); err == nil {
		options.Book, options.Settled = s.database, o.Durability == settings.DurabilitySettled
		s.Sale, err = stock.NewSale(client, options)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// readTokens reads the tokens of the sale, and logs a warning if it has none.
func (s *Shop) readTokens(f *settings.File, log *slog.Logger) (err error) {
	s.tokens, err = f.Tokens()
	if err == nil && s.tokens == nil && f.Serves() {
		log.Warn("shop open", slog.String("text", "there are no tokens, so all programs of this machine may do everything"), slog.Any("variables", settings.TokenEnvs))
	}
	return exit.Usage(err)
}

// remarks returns the lines of /readyz about the shop. A sale whose stock is unknown replies 503
// itself; its node stays ready for its other work.
func (s *Shop) remarks() []string {
	if err := s.Sale.Known(); err != nil {
		return []string{"shop: " + err.Error()}
	}
	if halted := s.Sale.Halted(); len(halted) > 0 {
		return []string{"shop: products are not sold, since their books do not balance: " + strings.Join(halted, ", ")}
	}
	return nil
}

// Ping connects to the database, unless it is connected.
func (s *Shop) Ping(ctx context.Context) error { return s.db.PingContext(ctx) }

// Close ends the work of the sale and closes the database.
func (s *Shop) Close() {
	s.Sale.Close()
	_ = s.db.Close()
}

// maxCallers bounds the open connections of buyers, sellers and payments.
const maxCallers = 4096

// readyPoll is the interval at which a shop probes whether its node is ready.
const readyPoll = 20 * time.Millisecond

// run runs the node, and serves the sale as soon as the node is ready. Before that the Redis may be
// one that would lose sold stock.
func (s *Shop) run(ctx context.Context, node *scheduler.Node, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop() // the node ends if its shop fails
		served <- s.serveOnce(ctx, node.Ready, log)
	}()
	err := node.Run(ctx)
	stop()
	return errors.Join(<-served, err)
}

// serveOnce serves the shop until ctx ends, once the node is ready. A shop without an address only
// compares its sale with the book, because its metrics need that.
func (s *Shop) serveOnce(ctx context.Context, ready func() error, log *slog.Logger) error {
	if (config.HTTP{Address: s.address}).Off() {
		s.Sale.Watch(ctx, log)
		return nil
	}
	for ready() != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyPoll):
		}
	}
	if err := s.compareFirst(ctx); err != nil {
		return err
	}
	options := s.gate
	options.Log, options.Tokens = log, s.tokens
	sale := stockhttp.NewHandler(s.Sale, options)
	s.served.Store(sale)
	listener, err := listen.Listen(s.address, maxCallers)
	if err != nil {
		return fmt.Errorf("shop.address: %w", err)
	}
	server := &http.Server{
		Handler:           onlyHosts(s.hosts, promhttp.InstrumentHandlerCounter(s.requests, sale)),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          terminal.ServerLog(log),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends in closeShop
	serving.Go(func() { s.Sale.Watch(ctx, log) })
	log.Info("shop served", slog.String("address", listener.Addr().String()), slog.String("sale", s.Sale.ID()))
	<-ctx.Done()
	closeShop(server)
	serving.Wait()
	return nil
}

// firstCompareTime bounds the first comparison with the database.
const firstCompareTime = 30 * time.Second

// compareFirst refuses to serve a shop whose store belongs to another database, since its orders
// would be split between the two. Other errors are logged by Sale.Watch.
func (s *Shop) compareFirst(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, firstCompareTime)
	defer stop()
	if err := s.Sale.Probe(ctx); errors.Is(err, stock.ErrForeign) {
		return exit.With(exit.Refused, fmt.Errorf("shop.database: %w", err))
	}
	return nil
}

// shopGrace bounds the requests that are still being served when the shop closes.
const shopGrace = 10 * time.Second

// closeShop waits for the requests that are being served.
func closeShop(server *http.Server) {
	grace, stop := context.WithTimeout(context.Background(), shopGrace)
	defer stop()
	if err := server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
	}
}

// saleFaults adds the place in the file to the faults of a sale.
func saleFaults(f *settings.File, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		field, ok := errors.AsType[*stock.FieldError](e)
		switch {
		case ok && field.Field == "namespace": // config.faults has reported it
		case ok && field.Field == "name":
			errs = append(errs, f.Fault("shop.sale", "is %s, must be %s", field.Value, field.Allowed))
		case ok:
			errs = append(errs, f.Fault("shop."+field.Field, "is %s, must be %s", field.Value, field.Allowed))
		default:
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}
