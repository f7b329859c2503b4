package stock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Each product is on one page, in the order of the SKUs, whatever comes meanwhile.
func TestProductPages(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		var want []string
		for i := range 23 {
			sku := fmt.Sprintf("p-%02d", i)
			put(t, s, sku, int64(i))
			want = append(want, sku)
		}
		var got []string
		cursor := ""
		for page := 0; ; page++ {
			p, err := s.Products(t.Context(), cursor, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range p.Products {
				got = append(got, one.SKU)
				if one != (stock.Product{SKU: one.SKU, Put: one.Put, Stock: one.Put, Offer: priceOf}) {
					t.Errorf("%+v", one)
				}
			}
			if page == 1 {
				put(t, s, "a", 1) // before: not seen any more
			}
			if cursor = p.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for _, limit := range []int{0, -1, stock.MaxPage + 1} {
			if _, err := s.Products(t.Context(), "", limit); !slices.Equal(fields(err), []string{"limit"}) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if _, err := s.Products(t.Context(), "p-01", 1); !slices.Equal(fields(err), []string{"cursor"}) {
			t.Errorf("a cursor of one's own: %v", err)
		}
	})
}

// A store that a version without names has put products into, or has rebuilt, has a page of all of
// them all the same, and so has one that was rebuilt from the book.
func TestProductPagesOfOlderStores(t *testing.T) {
	onDatabase(t, "sqlite", sqlite, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		const names = "cronce:v1:stock:{cronce:shop}:names"
		want := func(when string, skus ...string) {
			t.Helper()
			var got []string
			for cursor, more := "", true; more; more = cursor != "" {
				page, err := s.Products(t.Context(), cursor, 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range page.Products {
					got = append(got, one.SKU)
				}
				cursor = page.Next
			}
			if !slices.Equal(got, skus) {
				t.Errorf("%s: %q, want %q", when, got, skus)
			}
		}
		want("without products")
		for _, sku := range []string{"tea", "cup", "pot", "Pot", "p.t"} {
			put(t, s, sku, 1)
		}
		all := []string{"Pot", "cup", "p.t", "pot", "tea"}
		want("new", all...)
		if err := client.Del(t.Context(), names).Err(); err != nil {
			t.Fatal(err)
		}
		want("without names", all...)
		if err := client.ZAdd(t.Context(), names, redis.Z{Member: "gone"}).Err(); err != nil {
			t.Fatal(err)
		}
		want("with a name too many", all...)
		if err := s.Delete(t.Context(), "pot", stock.Condition{}); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 1, 0)
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := client.ZCard(t.Context(), names).Result(); err != nil || n != 5 {
			t.Errorf("%d names after the rebuild, %v", n, err)
		}
		want("rebuilt", "Pot", "cup", "p.t", "tea")
	})
}

// listAll reads all pages of a query.
func listAll(t *testing.T, s *stock.Sale, q stock.OrderQuery) (ids []string) {
	t.Helper()
	for range 1000 {
		page, err := s.Orders(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Orders) > q.Limit {
			t.Fatalf("%d orders on a page of %d", len(page.Orders), q.Limit)
		}
		for _, r := range page.Orders {
			ids = append(ids, r.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
	}
	t.Fatal("the list does not end")
	return nil
}

// Pages of any size give each order that fits once, with its items and payments.
func TestOrderPages(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		put(t, s, "cup", 100)
		for i := range 12 {
			items := []stock.Item{{SKU: "tea", Quantity: 1}}
			if i%3 == 0 {
				items = append(items, stock.Item{SKU: "cup", Quantity: 2})
			}
			reserve(t, s, order(fmt.Sprintf("o-%02d", i), items...))
			if i%2 == 0 {
				if _, err := pay(t.Context(), s, fmt.Sprintf("o-%02d", i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		settle(t, s, p, 1, 12)
		for _, limit := range []int{1, 2, 5, 6, 12, 100} {
			for _, c := range []struct {
				state stock.State
				sku   string
				want  string
			}{
				{"", "", "00 01 02 03 04 05 06 07 08 09 10 11"},
				{stock.Paid, "", "00 02 04 06 08 10"},
				{"", "cup", "00 03 06 09"},
				{stock.Paid, "cup", "00 06"},
				{stock.Reserved, "cup", "03 09"},
				{stock.Expired, "cup", ""},
				{"", "pot", ""},
			} {
				got := strings.ReplaceAll(strings.Join(listAll(t, s, stock.OrderQuery{State: c.state, SKU: c.sku, Limit: limit}), " "), "o-", "")
				if got != c.want {
					t.Errorf("%s %s by %d: %s, want %s", c.state, c.sku, limit, got, c.want)
				}
			}
		}
		page, err := s.Orders(t.Context(), stock.OrderQuery{SKU: "cup", State: stock.Paid, Limit: 1})
		if err != nil || len(page.Orders) != 1 {
			t.Fatal(page, err)
		}
		want := wantState(t, s, "o-00", stock.Paid)
		if fmt.Sprint(page.Orders[0].Items, page.Orders[0].Payments, page.Orders[0].Amount) != fmt.Sprint(want.Items, want.Payments, want.Amount) {
			t.Errorf("%+v, want %+v", page.Orders[0].Items, want.Items)
		}
		if _, err := s.Orders(t.Context(), stock.OrderQuery{SKU: "tea", Limit: 1, Cursor: page.Next}); !slices.Equal(fields(err), []string{"cursor"}) {
			t.Errorf("with the cursor of another query: %v", err)
		}
		if _, err := s.Orders(t.Context(), stock.OrderQuery{State: "lost", SKU: "a b"}); !slices.Equal(fields(err), []string{"limit", "state", "sku"}) {
			t.Errorf("%v", err)
		}
	})
}

// Orders are read by their ids wherever they are: in the store, or only in the book.
func TestReadOrders(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	p := sqlite(t)
	s := keptSale(t, connect(t, m.Addr()), p, stock.Options{})
	put(t, s, "tea", 100)
	for _, id := range []string{"a", "b", "c"} {
		reserve(t, s, order(id))
	}
	if _, err := s.Cancel(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	settle(t, s, p, 1, 3)
	m.Del("cronce:v1:stock:{cronce:shop}:order:b") // as after its retention
	want := func(want string) {
		t.Helper()
		all, err := s.ReadOrders(t.Context(), []string{"c", "x", "b", "a"})
		if got := fmt.Sprint(all.Orders, all.Unknown, all.Unreadable, err); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
	}
	want(`[order "c" of 1 items for A***, reserved order "b" of 1 items for A***, cancelled order "a" of 1 items for A***, reserved] [x] [] <nil>`)
	if err := m.Set("cronce:v1:stock:{cronce:shop}:order:c", "reserved"); err != nil {
		t.Fatal(err)
	}
	want(`[order "b" of 1 items for A***, cancelled order "a" of 1 items for A***, reserved] [x] [c] <nil>`)
	if _, err := s.Order(t.Context(), "c"); err == nil {
		t.Error("an order whose record is broken is read")
	}
	for _, c := range []struct {
		ids    []string
		fields string
	}{{nil, "ids"}, {make([]string, stock.MaxRead+1), "ids"}, {[]string{"a", "", "a"}, "ids[1] ids[2]"}} {
		if _, err := s.ReadOrders(t.Context(), c.ids); strings.Join(fields(err), " ") != c.fields {
			t.Errorf("%d ids: %v, want %s", len(c.ids), err, c.fields)
		}
	}
}

// However many orders the store lacks, the book is asked for all of them at once. One that it has as
// reserved, and that the store lost, closes the sale.
func TestReadOrdersAtOnce(t *testing.T) {
	open := func(t testing.TB) place { return newPlace(t, sqlserver.SharedMariaDB(t).Open(t), stock.MySQL) }
	onDatabase(t, "mariadb", open, func(t *testing.T, client redis.UniversalClient, p place) {
		p.db.SetMaxOpenConns(1) // the session whose statements are counted
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		ids, keys := make([]string, 60), make([]string, 40)
		for i := range ids {
			ids[i] = fmt.Sprintf("o-%02d", i)
			reserve(t, s, order(ids[i]))
			if i < len(keys) {
				keys[i] = "cronce:v1:stock:{cronce:shop}:order:" + ids[i]
				if _, err := pay(t.Context(), s, ids[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		settle(t, s, p, 1, 60)
		if err := client.Del(t.Context(), keys...).Err(); err != nil {
			t.Fatal(err)
		}
		asked := func() (n int) {
			if _, err := fmt.Sscan(strings.TrimPrefix(p.lines(t, "SHOW SESSION STATUS LIKE 'Com_select'")[0], "Com_select "), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := asked()
		all, err := s.ReadOrders(t.Context(), append([]string{"x-1", "x-2"}, ids...))
		if n := asked() - before; n > 3 { // orders, items, payments
			t.Errorf("%d queries", n)
		}
		if len(all.Orders) != 60 || fmt.Sprint(all.Unknown, all.Unreadable) != "[x-1 x-2] []" || err != nil {
			t.Errorf("%d orders, unknown %q, unreadable %q, %v", len(all.Orders), all.Unknown, all.Unreadable, err)
		}
		for i, r := range all.Orders {
			if r.ID != ids[i] || len(r.Items) != 1 || len(r.Payments) != map[stock.State]int{stock.Paid: 1}[r.State] || (r.State == stock.Paid) != (i < len(keys)) {
				t.Errorf("%d: %+v", i, r)
			}
		}
		if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:o-50").Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadOrders(t.Context(), ids); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("with an order that the store lost: %v", err)
		}
	})
}

// A closed sale still reads orders that the store has, one by one and at once.
func TestReadOrdersWhileClosed(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	reserve(t, s, order("a"))
	if err := client.HSet(t.Context(), saleTag+"shelf", "closed", "behind").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
		t.Fatal(err)
	}
	if _, err := s.Order(t.Context(), "a"); err != nil {
		t.Errorf("Order: %v", err)
	}
	if _, err := s.ReadOrders(t.Context(), []string{"a"}); err != nil {
		t.Errorf("ReadOrders: %v", err)
	}
}

// A page of products, and the orders of one of them.
func ExampleSale_Products() {
	s, done, err := exampleSale()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	ctx := context.Background()
	for _, sku := range []string{"tea", "cup", "pot"} {
		if _, err := s.Put(ctx, sku, 5); err != nil {
			fmt.Println(err)
		}
	}
	for page, cursor := 1, ""; page == 1 || cursor != ""; page++ {
		p, err := s.Products(ctx, cursor, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(page, len(p.Products), p.Products[0].SKU)
		cursor = p.Next
	}
	// Output:
	// 1 2 cup
	// 2 1 tea
}

// exampleSale is a sale on a store of its own.
func exampleSale() (s *stock.Sale, done func(), err error) {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	s, err = stock.NewSale(client, stock.Options{})
	return s, func() { _ = client.Close(); server.Close() }, err
}
