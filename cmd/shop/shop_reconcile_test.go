package main

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

// An operator compares Redis with the database, with the shop running all the time.
func TestShopReconcile(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	redis, database := "redis://"+server.Addr(), filepath.Join(t.TempDir(), "shop.db")
	_, url := startShop(t, redis, database)
	config := file(t, "o.yaml", fmt.Sprintf("shop: {database: {file: %s}}", database))
	run := func() result { return call(t, "reconcile", "--config", config, "--redis", redis) }
	must := func(want int, method, path, body string) {
		t.Helper()
		if status, answer := ask(t, method, url+path, body); status != want {
			t.Fatal(method, path, status, answer)
		}
	}
	must(200, "PUT", "/products/tea", `{"price":350,"currency":"EUR"}`)
	must(200, "PUT", "/products/tea/stock", `{"total":9}`)
	must(201, "POST", "/orders", `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`)
	must(200, "POST", "/orders/o-1/pay", payTea)
	const tag = "cronce:v1:stock:{cronce:shop}:"
	eventually(t, "all is settled", func() bool {
		return run().code == exit.Fine && server.Tell("EXISTS "+tag+"unsettled "+tag+"fresh") == ":0\r\n"
	})
	run().want(t, exit.Fine, "have the same")
	server.Tell("HINCRBY " + tag + "stock tea -1")
	run().want(t, exit.Failed, "product \"tea\"", "their sum is not the total")
}

// A database that accepts connections and does not reply ends restore and reconcile, which would otherwise wait forever.
func TestSilentDatabaseEndsCommands(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	dsn := file(t, "dsn", fmt.Sprintf("postgres://shop@%s/shop", silent.Addr()))
	config := file(t, "o.yaml", fmt.Sprintf("shop: {database: {dsn_file: %s}}", dsn))
	for _, args := range [][]string{{"restore"}, {"reconcile"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			_, redis := newRedis(t)
			call(t, append(args, "--config", config, "--redis", redis)...).want(t, exit.NotKnown, "shop.database: no answer within 10s")
		})
	}
}
