package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/redislock"
)

// order is one order, accepted by a simulated Redis and settled into SQLite.
func order(ctx context.Context, measure measure) (err error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Close()
	options := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer func() { err = errors.Join(err, client.Close()) }()
	folder, err := os.MkdirTemp("", "order-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	book, err := stock.NewDatabase(db, stock.SQLite)
	if err != nil {
		return err
	}
	sale, err := stock.NewSale(client, stock.Options{Book: book, Settled: true})
	if err != nil {
		return err
	}
	defer sale.Close()
	if err := errors.Join(book.Migrate(ctx), sale.Probe(ctx)); err != nil {
		return err
	}
	if _, err := sale.SetOffer(ctx, "tea", stock.Offer{Price: 350, Currency: "EUR"}); err != nil {
		return err
	}
	if _, err := sale.Put(ctx, "tea", 100); err != nil {
		return err
	}
	once := func(id string) error {
		_, fresh, err := sale.Reserve(ctx, stock.Order{ID: id, Receiver: "Ada Lovelace, London", Items: []stock.Item{{SKU: "tea", Quantity: 1}}})
		if err == nil && !fresh {
			err = errors.New("order: " + id + " is not new")
		}
		return err
	}
	return errors.Join(once("o-1"), measure(func() error { return once("o-2") }))
}
