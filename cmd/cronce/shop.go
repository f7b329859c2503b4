package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/cronce/cronce/jobs/stock"
)

// shopOverrides are the settings of a node, and where the shop is served.
var shopOverrides = append([]override{
	{"shop.address", "address", "CRONCE_SHOP", "where the shop is served (default " + defaultShop + ")", func(c *config) *string {
		if c.Shop == nil {
			c.Shop = &shopConfig{}
		}
		return &c.Shop.Address
	}},
}, nodeOverrides...)

func shopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shop",
		Short: "Serve a sale over HTTP, and run its jobs",
		Long: "Serve a sale over HTTP, and run its jobs (settleOrders, releaseExpired, reconcile) as a\n" +
			"node of the cluster, until SIGTERM or SIGINT; then finish what was begun. Any number may\n" +
			"run side by side. Without a file, orders go to the SQLite database " + defaultDatabase + " in this\n" +
			"folder; another database is named by its DSN in $" + defaultDSNEnv + ", which is never a flag.\n\n" +
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
	configFlags(cmd, shopOverrides)
	return cmd
}

// loadShopConfig reads what a node has to know that has nothing but the shop.
func loadShopConfig(cmd *cobra.Command) (*config, error) {
	c, err := readConfigThen(cmd, shopOverrides, (*config).onlyShop)
	return checked(c, err)
}

// A shop is a sale with its database. The zero shop is none.
type shop struct {
	sale     *stock.Sale
	database *stock.Database
	db       *sql.DB
	address  string
}

// openShop makes the shop of a configuration, which need not have one. It
// connects to nothing; dry, it reads no secrets either.
func openShop(c *config, client redis.UniversalClient, dry bool) (*shop, error) {
	s := &shop{}
	if c.Shop == nil {
		return s, nil
	}
	o := c.Shop
	sale, err := stock.NewSale(client, stock.Options{
		Namespace: c.Namespace, Name: o.Sale, Hold: time.Duration(o.Hold), Retention: time.Duration(o.Retention),
		Replicas: o.Replicas, ReplicaTimeout: time.Duration(o.ReplicaTimeout),
	})
	if err = c.saleFaults(err); err != nil || sale == nil {
		return s, usage(err)
	}
	db, dialect, err := c.openDatabase(dry)
	if err != nil {
		return s, usage(err)
	}
	s.sale, s.db, s.address = sale, db, o.Address
	s.database, err = stock.NewDatabase(db, dialect)
	return s, err
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func (s *shop) close() {
	if s.db != nil {
		_ = s.db.Close() // every transaction has ended
	}
}

// A served shop is one that listens.
type served struct {
	server  *http.Server
	serving sync.WaitGroup
}

// serve begins to serve the shop, if there is one.
func (s *shop) serve(log *zap.Logger) (*served, error) {
	if s.sale == nil || (httpConfig{Address: s.address}).off() {
		return &served{}, nil
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return nil, fmt.Errorf("shop.address: %w", err)
	}
	v := &served{server: &http.Server{
		Handler:           stock.NewHandler(s.sale, log),
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    8 << 10,
	}}
	v.serving.Go(func() { _ = v.server.Serve(listener) }) // until stopAfter's end
	log.Info("shop served", zap.Stringer("address", listener.Addr()), zap.String("sale", s.sale.ID()))
	return v, nil
}

// shopGrace is how long requests may go on when the shop closes.
const shopGrace = 10 * time.Second

// stopAfter lets the shop finish what it was asked once ctx has ended, and returns
// what waits for that.
func (v *served) stopAfter(ctx context.Context) (wait func()) {
	if v.server == nil {
		return func() {}
	}
	closed := make(chan struct{})
	end := func() {
		defer close(closed)
		grace, stop := context.WithTimeout(context.Background(), shopGrace)
		defer stop()
		if err := v.server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
			_ = v.server.Close()
		}
	}
	cancel := context.AfterFunc(ctx, end)
	return func() {
		if cancel() {
			end() // the node has ended without being asked to
		}
		<-closed
		v.serving.Wait()
	}
}
