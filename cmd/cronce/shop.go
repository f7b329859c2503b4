package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

func shopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shop",
		Short: "Serve a sale over HTTP, and run its jobs",
		Long: "Serve a sale over HTTP, and run its jobs (settleOrders, releaseExpired, reconcile) as a\n" +
			"node of the cluster, until SIGTERM, SIGINT or SIGHUP; then finish what was begun. Any number may\n" +
			"run side by side. Without a file, orders go to the SQLite database " + config.DefaultDatabase + " in this\n" +
			"folder; another database is named by its DSN in $" + config.DSNEnv + ", which is never a flag.\n\n" +
			"See docs/stock.md.",
		Example: "  cronce shop\n  cronce shop --config config.yaml --address 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadShopConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runNode(ctx, c, nodeFlags{}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	configFlags(cmd, config.ShopOverrides)
	cmd.AddCommand(shopRestoreCommand(), shopReconcileCommand(), shopDisputesCommand(), shopFreeCommand(), shopRefundsCommand(), shopEventsCommand())
	return cmd
}

// loadShopConfig reads what a node has to know that has nothing but the shop.
func loadShopConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := readConfigThen(cmd, config.ShopOverrides, (*config.Config).OnlyShop)
	return checked(cmd, c, err)
}

// A shop is a sale with its database. The zero shop is none.
type shop struct {
	sale     *stock.Sale
	database *stock.Database
	db       *sql.DB
	address  string
	hosts    []string                  // what it may be asked for as
	tokens   func(stock.Role) []string // of each role; nil: all may do everything
	gate     stock.HandlerOptions      // without log and tokens
	measured []string                  // products whose stock is a metric; none: all, if they are few
	targets  []string                  // of its events
	served   atomic.Pointer[stock.Handler]

	rewards func(context.Context, *zap.Logger) (h http.Handler, done func(), err error) // nil: none are served
}

// openShop makes the shop of a configuration, which need not have one. It
// connects to nothing; dry, it reads no secrets either.
func openShop(c *config.Config, client redis.UniversalClient, dry bool) (*shop, error) {
	s := &shop{}
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
		return s, usage(saleFaults(c, err))
	}
	db, dialect, err := openDatabase(c, dry)
	if err != nil {
		return s, usage(err)
	}
	s.db, s.address, s.hosts = db, o.Address, o.ServedAs()
	s.gate, s.measured = o.Gate(), o.MetricsProducts
	s.targets = c.EventTargets()
	if s.rewards, err = openRewards(c, client, db, dialect, dry); err != nil {
		return s, usage(err)
	}
	if s.database, err = stock.NewDatabase(db, dialect); err != nil {
		return s, err
	}
	options.Book, options.Settled = s.database, o.Durability == config.DurabilitySettled
	s.sale, err = stock.NewSale(client, options)
	return s, err
}

// readShopTokens reads the tokens of the shop a first time, and logs a warning if it is open.
func readShopTokens(c *config.Config, log *zap.Logger) (func(stock.Role) []string, error) {
	tokens, err := c.ShopTokens()
	if err == nil && tokens == nil && c.ServesShop() {
		log.Warn("shop open", zap.String("text", "there are no tokens, so all programs of this machine may do everything"), zap.Strings("variables", config.ShopTokenEnvs))
	}
	return tokens, usage(err)
}

// remarks are what /readyz says of the shop: a sale whose stock is not known answers
// 503 itself, and its node has other work.
func (s *shop) remarks() []string {
	if s.sale == nil {
		return nil
	}
	if err := s.sale.Known(); err != nil {
		return []string{"shop: " + err.Error()}
	}
	if halted := s.sale.Halted(); len(halted) > 0 {
		return []string{"shop: products are not sold, since their books do not balance: " + strings.Join(halted, ", ")}
	}
	return nil
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func (s *shop) close() {
	if s.sale != nil {
		s.sale.Close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
}

// readyPoll is how often a shop looks whether its node is ready.
const readyPoll = 20 * time.Millisecond

// beside runs the node, and serves the shop, if there is one, from when the node
// is ready: before, the Redis may be one that forgets what was sold.
func (s *shop) beside(ctx context.Context, node *scheduler.Node, log *zap.Logger) error {
	if s.sale == nil {
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
func (s *shop) serveOnce(ctx context.Context, ready func() error, log *zap.Logger) error {
	if (config.HTTP{Address: s.address}).Off() {
		s.sale.Watch(ctx, log)
		return nil
	}
	for ready() != nil {
		if sleep(ctx, readyPoll) != nil {
			return nil
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
	listener, err := listen(s.address, maxShopConnections)
	if err != nil {
		return fmt.Errorf("shop.address: %w", err)
	}
	server := &http.Server{
		Handler:           onlyHosts(s.hosts, handler),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    8 << 10,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until the end of closeShop
	serving.Go(func() { s.sale.Watch(ctx, log) })
	log.Info("shop served", zap.Stringer("address", listener.Addr()), zap.String("sale", s.sale.ID()))
	<-ctx.Done()
	closeShop(server)
	serving.Wait()
	return nil
}

// firstLookTime bounds how long a shop waits for its database before it is served.
const firstLookTime = 5 * time.Second

// firstLook refuses to serve a shop whose store belongs to another database: orders
// would be split between the two. All else passes, and is logged by the watch.
func (s *shop) firstLook(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, firstLookTime)
	defer stop()
	if err := s.sale.Look(ctx); errors.Is(err, stock.ErrForeign) {
		return &codedError{err: fmt.Errorf("shop.database: %w", err), code: exitRefused}
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
