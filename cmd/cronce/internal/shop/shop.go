// Package shop opens the sale of a configuration with its database, and serves it over HTTP beside a
// node: buyers, sellers and payments, rewards, and the metrics of both.
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

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/listen"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// A Shop is a sale with its database. The zero shop is none.
type Shop struct {
	Sale     *stock.Sale     // nil: there is no shop
	Database *stock.Database // the book of the sale
	db       *sql.DB
	address  string
	hosts    []string                  // what it may be asked for as
	Tokens   func(stock.Role) []string // of each role; nil: all may do everything
	gate     stock.HandlerOptions      // without log and tokens
	measured []string                  // products whose stock is a metric; none: all, if they are few
	targets  []string                  // of its events
	served   atomic.Pointer[stock.Handler]

	rewards func(context.Context, *slog.Logger) (h http.Handler, done func(), err error) // nil: none are served
}

// Open makes the shop of a configuration, which need not have one. It
// connects to nothing; dry, it reads no secrets either.
func Open(c *config.Config, client redis.UniversalClient, dry bool) (*Shop, error) {
	s := &Shop{}
	if c.Shop == nil {
		return s, nil
	}
	o := c.Shop
	options := stock.Options{
		Namespace: c.Namespace, Name: o.Sale, Hold: time.Duration(o.Hold), PayTime: time.Duration(o.PayTime), Retention: time.Duration(o.Retention),
		Replicas: o.Replicas, ReplicaTimeout: time.Duration(o.ReplicaTimeout), Restore: o.Restore == config.RestoreAuto,
	}
	if o.Events != nil {
		options.EventRetention = time.Duration(o.Events.Retention)
	}
	if _, err := stock.NewSale(client, options); err != nil { // before a database is created for it
		return s, exit.Usage(saleFaults(c, err))
	}
	db, dialect, err := clients.Database(c, dry)
	if err != nil {
		return s, exit.Usage(err)
	}
	s.db, s.address, s.hosts = db, o.Address, o.ServedAs()
	s.gate, s.measured = o.Gate(), o.MetricsProducts
	s.targets = c.EventTargets()
	if s.rewards, err = openRewards(c, client, db, dialect, dry); err != nil {
		return s, exit.Usage(err)
	}
	if s.Database, err = stock.NewDatabase(db, dialect); err != nil {
		return s, err
	}
	options.Book, options.Settled = s.Database, o.Durability == config.DurabilitySettled
	s.Sale, err = stock.NewSale(client, options)
	return s, err
}

// ReadTokens reads the tokens of the shop a first time, and logs a warning if it is open.
func ReadTokens(c *config.Config, log *slog.Logger) (func(stock.Role) []string, error) {
	tokens, err := c.ShopTokens()
	if err == nil && tokens == nil && c.ServesShop() {
		log.Warn("shop open", slog.String("text", "there are no tokens, so all programs of this machine may do everything"), slog.Any("variables", config.ShopTokenEnvs))
	}
	return tokens, exit.Usage(err)
}

// Remarks are what /readyz says of the shop: a sale whose stock is not known answers
// 503 itself, and its node has other work.
func (s *Shop) Remarks() []string {
	if s.Sale == nil {
		return nil
	}
	if err := s.Sale.Known(); err != nil {
		return []string{"shop: " + err.Error()}
	}
	if halted := s.Sale.Halted(); len(halted) > 0 {
		return []string{"shop: products are not sold, since their books do not balance: " + strings.Join(halted, ", ")}
	}
	return nil
}

// Close ends the work of the sale and closes the database. Of the zero shop it does nothing.
func (s *Shop) Close() {
	if s.Sale != nil {
		s.Sale.Close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
}

// readyPoll is how often a shop probes whether its node is ready.
const readyPoll = 20 * time.Millisecond

// Run runs the node, and serves the shop, if there is one, from when the node
// is ready: before, the Redis may be one that forgets what was sold.
func (s *Shop) Run(ctx context.Context, node *scheduler.Node, log *slog.Logger) error {
	if s.Sale == nil {
		return node.Run(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop() // without its shop the node ends
		served <- s.serveOnce(ctx, node.Ready, log)
	}()
	err := node.Run(ctx)
	stop()
	return errors.Join(<-served, err)
}

// serveOnce serves the shop, once it is ready, until ctx ends. One without an address is
// only watched, so that its metrics know the store.
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
	if err := s.firstLook(ctx); err != nil {
		return err
	}
	handler, done, err := s.handler(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	listener, err := listen.Listen(s.address, listen.MaxShopConnections)
	if err != nil {
		return fmt.Errorf("shop.address: %w", err)
	}
	server := &http.Server{
		Handler:           listen.OnlyHosts(s.hosts, handler),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    8 << 10,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until the end of closeShop
	serving.Go(func() { s.Sale.Watch(ctx, log) })
	log.Info("shop served", slog.String("address", listener.Addr().String()), slog.String("sale", s.Sale.ID()))
	<-ctx.Done()
	closeShop(server)
	serving.Wait()
	return nil
}

// firstLookTime bounds how long a shop waits for its database before it is served.
const firstLookTime = 5 * time.Second

// firstLook refuses to serve a shop whose store belongs to another database: orders
// would be split between the two. All else passes, and is logged by the watch.
func (s *Shop) firstLook(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, firstLookTime)
	defer stop()
	if err := s.Sale.Probe(ctx); errors.Is(err, stock.ErrForeign) {
		return exit.With(exit.Refused, fmt.Errorf("shop.database: %w", err))
	}
	return nil
}

// shopGrace is how long requests may go on when the shop closes.
const shopGrace = 10 * time.Second

// closeShop lets a shop finish what it was asked.
func closeShop(server *http.Server) {
	grace, stop := context.WithTimeout(context.Background(), shopGrace)
	defer stop()
	if err := server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
	}
}

// saleFaults gives what a sale refuses its place in the file.
func saleFaults(c *config.Config, err error) error {
	var errs []error
	for _, e := range config.Split(err) {
		f, ok := errors.AsType[*stock.FieldError](e)
		switch {
		case ok && f.Field == "namespace": // config.faults has refused it
		case ok && f.Field == "name":
			errs = append(errs, c.Fault("shop.sale", "is %s, must be %s", f.Value, f.Allowed))
		case ok:
			errs = append(errs, c.Fault("shop."+f.Field, "is %s, must be %s", f.Value, f.Allowed))
		default:
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}
