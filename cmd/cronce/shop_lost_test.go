package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
)

// A shop has acknowledged an order, and Redis loses it before it is settled: once the shelf was rebuilt the shop lists it, until an operator
// drops it.
func TestShopLost(t *testing.T) {
	t.Parallel()
	server, database := miniredis.RunT(t), filepath.Join(t.TempDir(), "shop.db")
	redis := "redis://" + server.Addr()
	shop, url := startShop(t, redis, database)
	config := file(t, "o.yaml", fmt.Sprintf("shop: {database: {file: %s}}", database))
	run := func(args ...string) result {
		return cronce(t, append(append([]string{"shop"}, args...), "--config", config, "--redis", redis)...)
	}
	for _, r := range [][3]string{{"PUT", "/products/tea", `{"price":350,"currency":"EUR"}`}, {"PUT", "/products/tea/stock", `{"total":9}`}} {
		if status, answer := ask(t, r[0], url+r[1], r[2]); status != 200 {
			t.Fatal(status, answer)
		}
	}
	run("lost").want(t, exit.Fine, "ORDER")
	if r := cronce(t, "pause", "settleOrders", "--redis", redis, "--reason", "a test"); r.code != exit.Fine {
		t.Fatal(r)
	}
	if status, answer := ask(t, "POST", url+"/orders", `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`); status != 201 {
		t.Fatal(status, answer)
	}
	server.FlushAll()
	eventually(t, "the shop has closed the sale", func() bool { return len(shop.logs("stock unknown")) > 0 })
	run("restore").want(t, exit.Fine, "restored 1 products", "cronce shop lost")
	eventually(t, "the order is listed", func() bool { return run("lost").code == exit.Failed })
	run("lost").want(t, exit.Failed, "o-1", "reserved", "the shop that acknowledged it")
	run("lost", "-o", "json").want(t, exit.Failed, `"order": "o-1"`, `"state": "reserved"`, `"acknowledged": true`)
	run("lost", "--limit", "0").want(t, exit.WrongUsage, "--limit is 0")
	run("lost", "drop", "--reason", "notified").want(t, exit.WrongUsage, "one order's id, or --all")
	run("lost", "drop", "o-1").want(t, exit.WrongUsage, "reason")
	run("lost", "drop", "o-2", "--reason", "notified").want(t, exit.Refused, "not listed as lost")
	run("lost", "drop", "o-1", "--reason", "notified", "--who", "grace").want(t, exit.Fine, "1 order dropped, recorded for grace")
	run("lost", "-o", "json").want(t, exit.Fine, "[]")
	run("lost", "drop", "--all", "--reason", "notified").want(t, exit.Refused, "not listed as lost")
}
