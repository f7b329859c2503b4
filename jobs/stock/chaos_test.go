package stock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// soakEnv is the environment variable that says how long the chaos lasts (60s),
// TestChaos on each database; without it, shortly and on SQLite alone.
const soakEnv = "CRONCE_STOCK_SOAK"

const (
	shortChaos = 6 * time.Second
	killEvery  = 4 * time.Second
)

// Three processes sell while replies are lost and late, the store forgets its
// scripts and drops its clients, one process is killed every four seconds, and the
// one that settles is stopped for longer than its lease. In the end everything is
// exact: no order that a buyer saw accepted is lost, none is doubled, every item is where it
// must be, and each target has an event for each state of each order.
func TestChaos(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		c := setup{Driver: "sqlite", DSN: sqliteDSN(filepath.Join(t.TempDir(), "db")), Dialect: stock.SQLite}
		chaos(t, c)
	})
	if os.Getenv(soakEnv) == "" {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		s := sqlserver.SharedPostgres(t)
		chaos(t, setup{Driver: s.Driver(), DSN: s.DSN(s.Create(t)), Dialect: stock.PostgreSQL})
	})
	t.Run("mariadb", func(t *testing.T) {
		s := sqlserver.SharedMariaDB(t)
		chaos(t, setup{Driver: s.Driver(), DSN: s.DSN(s.Create(t)), Dialect: stock.MySQL})
	})
}

func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(soakEnv)
	if text == "" {
		return shortChaos
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", soakEnv, err)
	}
	return d
}

func chaos(t *testing.T, c setup) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "everysec")
	proxy := rig.NewProxy(t, server.Addr())
	direct := connect(t, server.Addr())
	c.Redis, c.Hold = proxy.Addr(), 1500*time.Millisecond
	audience := newAudience(t, &c)
	m := newMarket(t, c, 3)
	audience.there()
	ctx, cancel := context.WithTimeout(t.Context(), chaosTime(t)+2*time.Minute)
	defer cancel()

	skus := []string{"cup", "pot", "tea", "tin"}
	for _, sku := range skus {
		m.put(ctx, sku, 300)
	}
	proxy.Set(rig.Faults{Cut: 33, Delay: 20, DelayFor: 20 * time.Millisecond})
	stop := make(chan struct{})
	var buyers, others sync.WaitGroup
	for i := range 12 {
		buyers.Go(func() { m.buy(ctx, fmt.Sprintf("b%d", i), skus, stop) })
	}
	others.Go(func() { m.supply(ctx, skus, stop) })
	others.Go(func() { watch(t, direct, skus, stop) })
	others.Go(func() { forget(direct, stop) })
	others.Go(func() { m.kill(stop) })
	others.Go(func() { m.pause(stop) })
	<-time.After(chaosTime(t))
	close(stop)
	others.Wait()
	lost := proxy.Lost()
	proxy.Set(rig.Faults{})
	buyers.Wait()
	audience.delivered(direct)
	m.calm(direct)
	m.judge(direct, skus)
	audience.judgeEvents()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("%d orders accepted, %d sold out, %d over the limit, %d replies lost, %d processes killed", len(m.accepted), m.refused, m.limited, lost, len(m.all)-len(m.members))
}

// supply puts in more of everything now and then.
func (m *market) supply(ctx context.Context, skus []string, stop <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(300 * time.Millisecond):
			sku := skus[rand.IntN(len(skus))]
			m.mu.Lock()
			total := m.totals[sku] + 50
			m.mu.Unlock()
			m.put(ctx, sku, total)
		}
	}
}

// forget lets the store forget its scripts, and its clients.
func forget(direct redis.UniversalClient, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(400 * time.Millisecond):
			ctx := context.Background()
			direct.ScriptFlush(ctx)
			if n%3 == 0 {
				direct.Do(ctx, "CLIENT", "KILL", "TYPE", "normal")
			}
		}
	}
}

// kill ends one process every few seconds, without a warning, and starts another.
func (m *market) kill(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(killEvery - time.Second):
			m.mu.Lock()
			victim := m.members[n%len(m.members)]
			m.mu.Unlock()
			victim.kill()
			m.start(n % len(m.members))
			<-time.After(time.Second)
		}
	}
}

// pause stops the process that has begun to settle, beyond its lease.
func (m *market) pause(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(500+rand.IntN(500)) * time.Millisecond):
		}
		m.mu.Lock()
		holder := m.settling
		m.settling = nil
		m.mu.Unlock()
		if holder == nil {
			continue
		}
		_ = holder.cmd.Process.Signal(syscall.SIGSTOP)
		<-time.After(memberLease * 3 / 2)
		_ = holder.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// watch looks at the counts all the time.
func watch(t *testing.T, direct redis.UniversalClient, skus []string, stop <-chan struct{}) {
	s := newSale(t, direct, stock.Options{})
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		for _, sku := range skus {
			p, err := s.Product(context.Background(), sku)
			if err == nil && (p.Stock < 0 || p.Reserved < 0 || p.Sold < 0 || p.Stock+p.Reserved+p.Sold != p.Put) {
				t.Errorf("%+v", p)
			}
		}
	}
}

// calm waits until every order is in its last state and in the database, and lets
// the members end.
func (m *market) calm(direct redis.UniversalClient) {
	m.t.Helper()
	const tag = "cronce:v1:stock:{cronce:shop}:"
	await(m.t, "every order is in its last state and settled", func() bool {
		fresh, err := direct.ZCard(m.t.Context(), tag+"fresh").Result() // in the order in which orders go from one to the next
		due, err1 := direct.ZCard(m.t.Context(), tag+"due").Result()
		unsettled, err2 := direct.ZCard(m.t.Context(), tag+"unsettled").Result()
		restocked, err3 := direct.HLen(m.t.Context(), tag+"restocked").Result()
		return errors.Join(err, err1, err2, err3) == nil && due+fresh+unsettled+restocked == 0
	})
	for _, p := range m.members {
		if err := p.end(); err != nil {
			m.t.Errorf("%s: %v", p.name, err)
		}
	}
	for _, p := range m.all {
		for _, line := range p.broken {
			m.t.Errorf("%s reported: %s", p.name, line)
		}
	}
}

// judge holds the store and the database against the replies to buyers.
func (m *market) judge(direct redis.UniversalClient, skus []string) {
	m.t.Helper()
	s := newSale(m.t, direct, stock.Options{})
	p := newPlace(m.t, sqlserver.Connect(m.t, m.setup.Driver, m.setup.DSN), m.setup.Dialect)
	sold, bought, rows, items := map[string]int64{}, map[string]int64{}, []string{}, []string{}
	for id, o := range m.accepted {
		r, err := s.Order(m.t.Context(), id)
		if err != nil {
			m.t.Errorf("an accepted order: %v", err)
			continue
		}
		want, asked := m.ended[id]
		if !asked {
			want = stock.Expired
		}
		if r.State != want || fmt.Sprint(sorted(r.Items)) != fmt.Sprint(sorted(o.Items)) {
			m.t.Errorf("order %s is %s of %v, its buyer got %s of %v", id, r.State, r.Items, want, o.Items)
		}
		rows = append(rows, id+" "+string(want))
		for _, item := range o.Items {
			items = append(items, fmt.Sprint(id, " ", item.SKU, " ", item.Quantity))
			if want == stock.Paid {
				sold[item.SKU] += item.Quantity
				bought[o.Buyer+":"+item.SKU] += item.Quantity
			}
		}
	}
	wantSame(m.t, "orders", p.lines(m.t, "SELECT id, status FROM orders"), rows)
	wantSame(m.t, "items", p.lines(m.t, "SELECT order_id, sku, quantity FROM order_item"), items)
	m.judgeBuyers(direct, bought)
	var products []string
	for _, sku := range skus {
		wantProduct(m.t, s, sku, m.totals[sku], m.totals[sku]-sold[sku], 0, sold[sku])
		products = append(products, fmt.Sprint(sku, " ", m.totals[sku], " 0 ", sold[sku]))
	}
	p.wantLines(m.t, productRows, products...)
	p.wantSums(m.t)
	if reported, err := reconcile(m.t, s, p, time.Hour.Microseconds()*24*365); err != nil {
		m.t.Errorf("%v: %s", err, reported)
	}
}

// judgeBuyers holds what the store counts of buyers against what their orders have, and that
// against the limit.
func (m *market) judgeBuyers(direct redis.UniversalClient, bought map[string]int64) {
	m.t.Helper()
	want := map[string]string{}
	for field, n := range bought {
		want[field] = strconv.FormatInt(n, 10)
		if n > marketLimit {
			m.t.Errorf("%s: %d, the limit is %d", field, n, marketLimit)
		}
	}
	wantBought(m.t, direct, want)
}

func sorted(items []stock.Item) []stock.Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Price = 0 // an order names none
	}
	slices.SortFunc(items, func(a, b stock.Item) int { return strings.Compare(a.SKU, b.SKU) })
	return items
}

// wantSame compares lines in any order, and shows the first few that differ.
func wantSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	var differ []string
	for line, n := range count {
		if n != 0 {
			differ = append(differ, fmt.Sprintf("%s (%+d)", line, -n))
		}
	}
	if len(differ) > 0 {
		t.Errorf("%d %s in the database differ from the replies to buyers: %s", len(differ), what, strings.Join(differ[:min(10, len(differ))], ", "))
	}
}
