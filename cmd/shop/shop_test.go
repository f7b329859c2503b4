package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
)

// The file of the folder has no fault, and each of its lines that is a comment is a setting.
func TestExample(t *testing.T) {
	t.Setenv(serverprocess.Require, "") // restored at the end
	os.Unsetenv(serverprocess.Require)  // the program would name it
	text, err := os.ReadFile("shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`(?m)^(\s*)# ([a-z_]+:)`).ReplaceAllString(string(text), "$1$2")
	for name, yaml := range map[string]string{"as it is": string(text), "with all": whole} {
		r := call(t, "serve", "--config", file(t, "c.yaml", yaml), "--redis", "redis://127.0.0.1:1/0", "--namespace", "a b")
		r.want(t, exit.WrongUsage, `namespace: is "a b"`)
		if strings.Count(r.stderr, "\n") != 2 {
			t.Errorf("%s: %s", name, r.stderr)
		}
	}
}

// Each setting that is out of bounds is refused, before anything is connected.
func TestShopConfig(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"jobs", "jobs: [{kind: sleep, name: a, spec: '@daily'}]", "jobs: is not for a shop"},
		{"pages", "ops: {address: '127.0.0.1:0'}", "ops: is not for a shop"},
		{"name", "shop: {sale: 'a:b'}", "shop.sale: is \"a:b\""},
		{"hold", "shop: {hold: -1s}", "shop.hold: is -1s"},
		{"retention", "shop: {retention: 1s}", "shop.retention: is 1s"},
		{"replicas", "shop: {replicas: 10}", "shop.replicas: is 10"},
		{"patience", "shop: {replica_timeout: 1m}", "shop.replica_timeout: is 1m0s"},
		{"restore", "shop: {restore: always}", "shop.restore: is \"always\", must be manual or auto"},
		{"durability", "shop: {durability: paid}", "shop.durability: is \"paid\", must be reserved or settled"},
		{"a webhook without a secret", "shop: {events: {webhook: {url: 'https://h/s3cr3t'}}}", "shop.events.webhook.secret_env: and secret_file are both missing"},
		{"a webhook in plain text", "shop: {events: {webhook: {url: 'http://h/s3cr3t', secret_env: S}}}", "shop.events.webhook.url: is http to another machine"},
		{"retention of events", "shop: {events: {retention: 1s}}", "shop.events.retention: is 1s"},
		{"remote", "shop: {address: '0.0.0.0:80'}", "shop.address: is \"0.0.0.0:80\", which other machines can reach: set shop.allow_remote"},
		{"places", "shop: {in_flight: -1}", "shop.in_flight: is -1, must be 1 to 4096"},
		{"a long wait", "shop: {wait: 1m}", "shop.wait: is 1m0s"},
		{"a long timeout", "shop: {timeout: 1m}", "shop.timeout: is 1m0s"},
		{"a short timeout", "shop: {timeout: 1us}", "shop.timeout: is 1µs, must be 1ms to 5s"},
		{"a host with a port", "shop: {hosts: ['h:1']}", `shop.hosts[0]: is "h:1"`},
		{"an empty DSN", "shop: {database: {dsn_env: EMPTY}}", "shop.database.dsn_env: names a variable that is empty"},
		{"two databases", "shop: {database: {file: a, dsn_env: B}}", "shop.database.file: and a DSN are both set"},
		{"a typing error", "shop: {holt: 1s}", `did you mean "hold"`},
		{"two DSNs", "shop: {database: {dsn_env: A, dsn_file: b}}", "shop.database.dsn_env: and shop.database.dsn_file are both set"},
		{"file and DSN", "shop: {database: {file: a, dsn_file: b}}", "shop.database.file: and a DSN are both set"},
		{"two tokens of sellers", "shop: {seller_token_env: A, seller_token_file: b}", "shop.seller_token_env: and"},
		{"two tokens of payments", "shop: {payment_token_env: A, payment_token_file: b}", "shop.payment_token_env: and"},
		{"two secrets", "shop: {events: {webhook: {url: 'https://h', secret_env: A, secret_file: b}}}", "shop.events.webhook.secret_env: and"},
		{"a short secret of a webhook", "shop: {events: {webhook: {url: 'https://h', secret_env: SHORT}}}", "shop.events.webhook.secret_env: or secret_file, or the old secret, is one of 5 bytes, must be 16 or more"},
		{"two old secrets", "shop: {events: {webhook: {url: 'https://h', secret_env: A, old_secret_env: A, old_secret_file: b}}}", "shop.events.webhook.old_secret_env: and"},
		{"no gateway", "sms: {batch: 1}", `sms.gateway: is "", must be console or http`},
		{"a gateway", "sms: {gateway: carrier, batch: -1}", "sms.batch: is -1, must be 1 to 1000000"},
		{"two tokens of a gateway", "sms: {gateway: http, url: 'https://h', token_env: A, token_file: b}", "sms.token_env: and sms.token_file are both set"},
		{"two tokens of receipts", "sms: {gateway: console, receipts: {address: 'off', token_env: A, token_file: b}}", "sms.receipts.token_env: and"},
		{"many messages", "sms: {gateway: console, rate: 10001}", "sms.rate: is 10001, must be 1 to 10000"},
		{"retention of messages", "sms: {gateway: console, retention: 1s}", "sms.retention: is 1s"},
		{"an empty token", "sms: {gateway: http, url: 'https://h', token_env: EMPTY}", "sms.token_env: names a variable that is empty"},
		{"console and url", "sms: {gateway: console, url: 'https://h'}", "sms.gateway: console takes no url, token or timeout"},
		{"no time to hold", "shop: {hold: 0s}", "shop.hold: is 0s, must be more than 0"},
		{"no retention", "shop: {retention: 0s}", "shop.retention: is 0s, must be more than 0"},
		{"no time for replicas", "shop: {replica_timeout: 0s}", "shop.replica_timeout: is 0s, must be more than 0"},
		{"no places", "shop: {in_flight: 0}", "shop.in_flight: is 0, must be 1 to 4096"},
		{"no wait", "shop: {wait: 0s}", "shop.wait: is 0s, must be 1ms to 5s"},
		{"no timeout", "shop: {timeout: 0s}", "shop.timeout: is 0s, must be 1ms to 5s"},
		{"no retention of events", "shop: {events: {retention: 0s}}", "shop.events.retention: is 0s, must be more than 0"},
		{"much time for a webhook", "shop: {events: {webhook: {url: 'https://h', secret_env: S, timeout: 2m}}}", "shop.events.webhook.timeout: is 2m0s, must be 1ms to 1m0s"},
		{"many requests to a webhook", "shop: {events: {webhook: {url: 'https://h', secret_env: S, concurrency: 65}}}", "shop.events.webhook.concurrency: is 65, must be 1 to 64"},
		{"no time for a webhook", "shop: {events: {webhook: {url: 'https://h', secret_env: S, timeout: 0s}}}", "shop.events.webhook.timeout: is 0s, must be more than 0"},
		{"no request to a webhook", "shop: {events: {webhook: {url: 'https://h', secret_env: S, concurrency: 0}}}", "shop.events.webhook.concurrency: is 0, must be 1 or more"},
		{"no time for a gateway", "sms: {gateway: http, url: 'https://h', timeout: 0s}", "sms.timeout: is 0s, must be more than 0"},
		{"negative time for a gateway", "sms: {gateway: http, url: 'https://h', timeout: -1s}", "sms.timeout: is -1s, must be more than 0"},
		{"no retention of messages", "sms: {gateway: console, retention: 0s}", "sms.retention: is 0s, must be more than 0"},
		{"no message", "sms: {gateway: console, batch: 0}", "sms.batch: is 0, must be 1 to 1000000"},
		{"no request to a gateway", "sms: {gateway: console, concurrency: 0}", "sms.concurrency: is 0, must be 1 to 100"},
		{"no request per second", "sms: {gateway: console, rate: 0}", "sms.rate: is 0, must be 1 to 10000"},
		{"no attempt", "sms: {gateway: console, attempts: 0}", "sms.attempts: is 0, must be 1 to 1000"},
		{"another store", "store: 'sqlite:a'", "but this needs a Redis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("S", "0123456789abcdef")
			t.Setenv("SHORT", "01234")
			t.Setenv("EMPTY", "")
			call(t, "serve", "--config", file(t, "c.yaml", c.yaml), "--http", "off").want(t, exit.WrongUsage, c.want)
		})
	}
}

// A DSN holds a password, which no error repeats.
func TestDSN(t *testing.T) {
	t.Setenv("SHOP_DSN", "oracle://u:secret@host/db")
	r := call(t, "serve", "--redis", "redis://127.0.0.1:1", "--address", "off", "--http", "off")
	r.want(t, exit.WrongUsage, "shop.database: the DSN is no DSN")
	if strings.Contains(r.stdout+r.stderr, "secret") {
		t.Error("the password is shown")
	}
	both := "shop:\n  database:\n    file: orders.db\n"
	call(t, "serve", "--config", file(t, "c.yaml", both), "--redis", "redis://127.0.0.1:1", "--address", "off", "--http", "off").
		want(t, exit.WrongUsage, `shop.database.file: is "orders.db", and SHOP_DSN is set: give one of the two`)
}

// ask sends a request to a shop and returns the status and the answer.
func ask(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if fields["type"] == "urn:cronce:stock:doubt" && t.Context().Err() == nil { // the store was slow: the answer requests the same again
		return ask(t, method, url, body)
	}
	return answer.StatusCode, fields
}

// payTea pays two teas.
const payTea = `{"reference":"p-1","amount":700,"currency":"EUR"}`

// startShop starts a shop and returns where it is served.
func startShop(t *testing.T, redis, database string, args ...string) (*child, string) {
	t.Helper()
	c := start(t, append([]string{"serve", "--config", file(t, "c.yaml", fmt.Sprintf("shop: {database: {file: %s}}", database)),
		"--redis", redis, "--http", "off", "--address", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	var address string
	eventually(t, "the shop is served", func() bool {
		for _, l := range c.logs("shop served") {
			address, _ = l.Fields["address"].(string)
		}
		return address != ""
	})
	return c, "http://" + address
}

// Two shops run side by side. Each knows the orders that the other accepted, and one of them settles the
// orders. Only the owner can read the database file. Both end on request.
func TestShop(t *testing.T) {
	t.Parallel()
	store := miniredis.RunT(t)
	database := filepath.Join(t.TempDir(), "shop.db")
	one, first := startShop(t, "redis://"+store.Addr(), database)
	two, second := startShop(t, "redis://"+store.Addr(), database)
	if status, answer := ask(t, "PUT", first+"/products/tea", `{"price":350,"currency":"EUR"}`); status != 200 {
		t.Fatal(status, answer)
	}
	if status, answer := ask(t, "PUT", first+"/products/tea/stock", `{"total":5}`); status != 200 {
		t.Fatal(status, answer)
	}
	const order = `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`
	if status, answer := ask(t, "POST", first+"/orders", order); status != 201 {
		t.Fatal(status, answer)
	}
	if status, answer := ask(t, "POST", second+"/orders", order); status != 200 || answer["state"] != "reserved" {
		t.Fatal(status, answer)
	}
	if status, answer := ask(t, "POST", second+"/orders/o-1/pay", payTea); status != 200 || answer["state"] != "paid" {
		t.Fatal(status, answer)
	}
	if status, answer := ask(t, "GET", first+"/products/tea", ""); status != 200 || answer["stock"] != 3.0 || answer["sold"] != 2.0 {
		t.Fatal(status, answer)
	}
	foreign, err := http.NewRequestWithContext(t.Context(), "GET", first+"/products/tea", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "evil.example"
	if answer, err := http.DefaultClient.Do(foreign); err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("for another host: %v, %v", answer, err)
	}
	eventually(t, "the order is settled", func() bool {
		return len(one.logs("orders settled"))+len(two.logs("orders settled")) > 0
	})
	if info, err := os.Stat(database); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want a file for its owner only", info.Mode(), err)
	}
	for _, c := range []*child{one, two} {
		c.signal(syscall.SIGTERM)
		if code := c.code(); code != exit.Fine {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(c.stderr.String(), "Lovelace") {
			t.Error("the log names the receiver")
		}
	}
}

// A running shop is scraped. Its numbers are the store's, or absent while the store does not answer,
// which delays neither the scrape nor health.
func TestShopMetrics(t *testing.T) {
	t.Parallel()
	server, database := redisserver.Start(t), filepath.Join(t.TempDir(), "shop.db")
	c := start(t, "serve", "--config", file(t, "c.yaml", fmt.Sprintf("shop: {database: {file: %s}}\nhttp: {address: '127.0.0.1:0'}", database)),
		"--redis", "redis://"+server.Addr(), "--address", "127.0.0.1:0", "--log-format", "json")
	var shop, beside string
	eventually(t, "it is served", func() bool {
		for name, into := range map[string]*string{"shop served": &shop, "health served": &beside} {
			for _, l := range c.logs(name) {
				*into, _ = l.Fields["address"].(string)
			}
		}
		return shop != "" && beside != ""
	})
	scrape := func() string {
		r, err := http.Get("http://" + beside + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%d %v: %s", r.StatusCode, err, text)
		}
		return string(text)
	}
	for _, c := range [][2]string{{"/products/tea", `{"price":350,"currency":"EUR"}`}, {"/products/tea/stock", `{"total":5}`}} {
		if status, answer := ask(t, "PUT", "http://"+shop+c[0], c[1]); status != 200 {
			t.Fatal(status, answer)
		}
	}
	if status, answer := ask(t, "POST", "http://"+shop+"/orders", `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`); status != 201 {
		t.Fatal(status, answer)
	}
	var text string
	eventually(t, "the order and the total are settled", func() bool {
		text = scrape()
		return strings.Contains(text, "\ncronce_shop_orders_unsettled 0\n") && strings.Contains(text, "\ncronce_shop_products_unsettled 0\n")
	})
	for _, line := range []string{"cronce_shop_up 1", "cronce_shop_stock_known 1", `cronce_shop_stock_left{sku="tea"} 3`, "cronce_shop_products 1", "cronce_shop_products_closed 0", "cronce_shop_products_unsettled 0",
		"cronce_shop_settle_lag_seconds 0", "cronce_shop_requests_shed_total 0", `cronce_shop_requests_total{code="200"} 2`, `cronce_shop_requests_total{code="201"} 1`} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	if strings.Contains(text, "o-1") || strings.Contains(text, "Lovelace") || strings.Contains(text, "cronce_shop_events") {
		t.Error("the scrape names an order or a receiver, or events without a webhook")
	}
	server.Freeze()
	defer server.Thaw()
	began := time.Now()
	text = scrape()
	if took := time.Since(began); took > time.Minute || !strings.Contains(text, "\ncronce_shop_up 0\n") || strings.Contains(text, "cronce_shop_stock_left") || strings.Contains(text, "cronce_shop_orders_unsettled") {
		t.Errorf("with a store that does not answer, after %v: %s", took, text)
	}
}

// A shop is not served on a Redis that may forget sold stock, and then runs no node either.
func TestShopThatCannotServe(t *testing.T) {
	t.Parallel()
	run := func(want int, address string, redis ...string) *child {
		s := redisserver.Start(t, redis...)
		c := start(t, "serve", "--config", file(t, "c.yaml", fmt.Sprintf("shop: {database: {file: %s}}", filepath.Join(t.TempDir(), "shop.db"))),
			"--redis", "redis://"+s.Addr(), "--http", "off", "--address", address, "--log-format", "json")
		if code := c.code(); code != want || strings.Contains(c.stderr.String(), "shop served") {
			t.Errorf("exit code %d: %s", code, c.stderr.String())
		}
		return c
	}
	c := run(exit.Refused, "127.0.0.1:0", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	if !strings.Contains(c.stderr.String(), "set maxmemory-policy to noeviction") {
		t.Errorf("evicting: %s", c.stderr.String())
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c = run(exit.Failed, taken.Addr().String())
	if !strings.Contains(c.stderr.String(), "shop.address: ") || !strings.Contains(c.stderr.String(), "node stopped") {
		t.Errorf("address taken: %s", c.stderr.String())
	}
}

// Redis loses everything. The shop reports that its stock is unknown, also in /readyz, until the
// operator rebuilds it from the database. A second shop with a database of its own
// is refused.
func TestShopRestore(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	redis, database := "redis://"+server.Addr(), filepath.Join(t.TempDir(), "shop.db")
	shop, url := startShop(t, redis, database, "--http", "127.0.0.1:0")
	var health string
	for _, l := range shop.logs("health served") {
		health = fmt.Sprint("http://", l.Fields["address"])
	}
	ready := func() string {
		r, err := http.Get(health + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return string(text)
	}
	if status, answer := ask(t, "PUT", url+"/products/tea", `{"price":350,"currency":"EUR"}`); status != 200 {
		t.Fatal(status, answer)
	}
	if status, answer := ask(t, "PUT", url+"/products/tea/stock", `{"total":5}`); status != 200 {
		t.Fatal(status, answer)
	}
	order := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`, id)
	}
	if status, answer := ask(t, "POST", url+"/orders", order("o-1")); status != 201 {
		t.Fatal(status, answer)
	}
	eventually(t, "the order is settled", func() bool { return len(shop.logs("orders settled")) > 0 })

	path := filepath.Join(t.TempDir(), "other.db")
	foreign := file(t, "c.yaml", fmt.Sprintf("shop: {database: {file: %s}}", path))
	byDSN := file(t, "d.yaml", fmt.Sprintf("shop: {database: {dsn_file: %s}}", file(t, "dsn", "sqlite:"+path)))
	for _, args := range [][]string{{"restore", "--config", byDSN}, {"restore", "--config", foreign}, {"reconcile", "--config", foreign}} {
		call(t, append(args, "--redis", redis)...).want(t, exit.WrongUsage, `other.db", which does not exist`)
	}
	other := start(t, "serve", "--config", foreign, "--redis", redis, "--http", "off", "--address", "127.0.0.1:0", "--log-format", "json")
	if code := other.code(); code != exit.Refused || !strings.Contains(other.stderr.String(), "the store belongs to another database") {
		t.Errorf("with another database: exit code %d: %s", code, other.stderr.String())
	}
	for _, command := range []string{"restore", "reconcile"} {
		call(t, command, "--config", foreign, "--redis", redis).want(t, exit.Refused, "another database")
	}
	silent := start(t, "serve", "--config", foreign, "--redis", redis, "--http", "off", "--address", "off", "--log-format", "json")
	eventually(t, "a shop without an address compares", func() bool { return len(silent.logs("stock unknown")) > 0 })
	silent.signal(syscall.SIGTERM)
	silent.code()

	if reply := server.Tell("FLUSHALL"); !strings.HasPrefix(reply, "+OK") {
		t.Fatal(reply)
	}
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/products/tea/stock", `{"total":5}`}, {"POST", "/orders", order("o-2")}, {"POST", "/orders/o-1/pay", payTea},
	} {
		if status, answer := ask(t, c.method, url+c.path, c.body); status != 503 || answer["type"] != "urn:cronce:stock:stock-unknown" {
			t.Errorf("%s %s: %d %v, want stock-unknown", c.method, c.path, status, answer)
		}
	}
	if text := ready(); !strings.Contains(text, "shop: it is not known what is left") {
		t.Errorf("/readyz says %q", text)
	}
	eventually(t, "the log says so", func() bool { return len(shop.logs("stock unknown")) > 0 })
	config := file(t, "r.yaml", fmt.Sprintf("shop: {timeout: 5s, database: {file: %s}}", database))
	call(t, "reconcile", "--config", config, "--redis", redis).want(t, exit.NotKnown)
	server.Tell(fmt.Sprint("HSET cronce:v1:stock:{cronce:shop}:shelf closed restoring stepped ", time.Now().UnixMilli())) // another rebuild
	call(t, "restore", "--take-over", "--config", config, "--redis", redis).want(t, exit.Fine, "restored 1 products, 1 open orders, 0 closed ones")
	call(t, "restore", "--config", config, "--redis", redis).want(t, exit.Fine, "nothing to restore")
	eventually(t, "the shop has seen it", func() bool { return len(shop.logs("stock known")) > 0 })
	if status, answer := ask(t, "POST", url+"/orders/o-1/pay", payTea); status != 200 {
		t.Error(status, answer)
	}
	if status, answer := ask(t, "GET", url+"/products/tea", ""); status != 200 || answer["stock"] != 3.0 || answer["sold"] != 2.0 {
		t.Error(status, answer)
	}
	if text := ready(); strings.Contains(text, "shop:") {
		t.Errorf("/readyz says %q", text)
	}
}
