package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// A payment that comes too late is listed until its refund was reported.
func TestShopRefunds(t *testing.T) {
	t.Parallel()
	redis, database := "redis://"+miniredis.RunT(t).Addr(), filepath.Join(t.TempDir(), "shop.db")
	_, url := startShop(t, redis, database)
	config := file(t, "o.yaml", fmt.Sprintf("shop: {database: {file: %s}}", database))
	run := func(args ...string) result {
		return cronce(t, append([]string{"shop", "refunds", "--config", config, "--redis", redis}, args...)...)
	}
	must := func(want int, method, path, body string) {
		t.Helper()
		if status, answer := ask(t, method, url+path, body); status != want {
			t.Fatal(method, path, status, answer)
		}
	}
	run().want(t, exitFine, "ORDER")
	must(200, "PUT", "/products/tea", `{"price":350,"currency":"EUR"}`)
	must(200, "PUT", "/products/tea/stock", `{"total":9}`)
	must(201, "POST", "/orders", `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`)
	must(200, "DELETE", "/orders/o-1", "")
	must(409, "POST", "/orders/o-1/pay", payTea)
	eventually(t, "the payment is in the database", func() bool { return run().code == exitFailed })
	run().want(t, exitFailed, "o-1", "cancelled", "p-1", "700 EUR")
	run("-o", "json").want(t, exitFailed, `"order": "o-1"`, `"reference": "p-1"`, `"amount": 700`)
	run("--limit", "0").want(t, exitUsage, "limit is 0")
	must(200, "POST", "/orders/o-1/refund", `{"reference":"f-1","payment":"p-1"}`)
	eventually(t, "it is off the list", func() bool { return run().code == exitFine })
	run("-o", "json").want(t, exitFine, "[]")
}
