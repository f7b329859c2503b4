package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

// An operator frees a reservation, finds a disputed order and lets it go on under another
// id, and repairs what Redis and the database differ in, with the shop running all the time.
func TestShopOperator(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	redis, database := "redis://"+server.Addr(), filepath.Join(t.TempDir(), "shop.db")
	shop, url := startShop(t, redis, database)
	config := file(t, "o.yaml", fmt.Sprintf("shop: {database: {file: %s}}", database))
	run := func(args ...string) result {
		return cronce(t, append(append([]string{"shop"}, args...), "--config", config, "--redis", redis)...)
	}
	must := func(want int, method, path, body string) {
		t.Helper()
		if status, answer := ask(t, method, url+path, body); status != want {
			t.Fatal(method, path, status, answer)
		}
	}
	order := func(id string, quantity int) string {
		return fmt.Sprintf(`{"id":%q,"receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":%d}]}`, id, quantity)
	}
	must(200, "PUT", "/products/tea", `{"price":350,"currency":"EUR"}`)
	must(200, "PUT", "/products/tea/stock", `{"total":9}`)
	must(201, "POST", "/orders", order("o-1", 2))
	must(201, "POST", "/orders", order("o-2", 1))
	must(200, "POST", "/orders/o-1/pay", payTea)

	run("free", "o-2").want(t, exit.WrongUsage, "reason is")
	run("free", "o-2", "--reason", "asked for it", "--who", "grace").want(t, exit.Fine, "order o-2: free, recorded for grace")
	run("free", "o-1", "--reason", "asked for it").want(t, exit.Refused, "it is paid")
	run("free", "o-3", "--reason", "asked for it").want(t, exit.Refused, "not known")
	run("free").want(t, exit.WrongUsage, "got 0 arguments")

	const tag = "cronce:v1:stock:{cronce:shop}:"
	eventually(t, "all is settled", func() bool {
		return run("reconcile").code == exit.Fine && server.Tell("EXISTS "+tag+"unsettled "+tag+"fresh") == ":0\r\n"
	})
	run("disputes").want(t, exit.Fine, "ORDER")
	run("disputes", "show", "o-1").want(t, exit.Refused, "not disputed")
	server.Tell("DEL " + tag + "order:o-1") // as after its retention
	must(201, "POST", "/orders", order("o-1", 3))
	must(200, "POST", "/orders/o-1/pay", `{"reference":"p-2","amount":1050,"currency":"EUR"}`)
	eventually(t, "it is disputed", func() bool { return len(shop.logs("order disputed")) > 0 && run("disputes").code == exit.Failed })
	run("disputes").want(t, exit.Failed, "o-1", "paid", "1050 EUR", "A")
	run("disputes", "show", "o-1", "-o", "json").want(t, exit.Fine, `"id": "o-1"`, `"quantity": 3`)
	run("disputes", "accept", "o-1", "--reason", "r").want(t, exit.WrongUsage, "id is")
	run("disputes", "accept", "o-1", "--as", "o-2", "--reason", "r").want(t, exit.Refused, "the id is known with another order")
	eventually(t, "it is decided", func() bool {
		return run("disputes", "accept", "o-1", "--as", "o-9", "--reason", "the buyer has paid").code == exit.Fine
	})
	run("disputes").want(t, exit.Fine, "ORDER")
	must(200, "GET", "/orders/o-9", "")

	server.Tell("HINCRBY " + tag + "stock tea -1")
	run("reconcile").want(t, exit.Failed, "product \"tea\"", "would rebuild")
	run("reconcile", "--repair", "--reason", "lost a tea", "--who", "grace").want(t, exit.Fine, "restored 1 products")
	run("reconcile").want(t, exit.Fine, "have the same")
	if status, answer := ask(t, "GET", url+"/products/tea", ""); status != 200 || answer["stock"] != 4.0 || answer["sold"] != 5.0 {
		t.Error(status, answer)
	}
}
