package stock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

const offerRow = "SELECT put_in, price, currency FROM product WHERE sku = "

// A seller raises and lowers a total and changes a price, and the store loses
// everything at the next moment, each time: what was answered holds, whatever buyers wait for.
func TestSellersOutliveTheStore(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		for sku, settled := range map[string]bool{"tea": false, "cup": true} {
			s := keptSale(t, client, p, stock.Options{Settled: settled})
			lose := func() {
				t.Helper()
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				if r, err := s.RestoreNow(t.Context()); err != nil || len(r.Dropped) > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			for _, step := range []struct {
				name string
				do   func() error
				want string
			}{
				{"total", func() error { _, err := s.Put(t.Context(), sku, 10); return err }, "10 0 "},
				{"price", func() error {
					_, err := s.SetOffer(t.Context(), sku, stock.Offer{Price: 350, Currency: "EUR"})
					return err
				}, "10 350 EUR"},
				{"lower total", func() error { _, err := s.Put(t.Context(), sku, 1); return err }, "1 350 EUR"},
				{"higher total", func() error { _, err := s.Put(t.Context(), sku, 4); return err }, "4 350 EUR"},
				{"higher price", func() error {
					_, err := s.SetOffer(t.Context(), sku, stock.Offer{Price: 900, Currency: "EUR"})
					return err
				}, "4 900 EUR"},
			} {
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				p.wantLines(t, offerRow+"'"+sku+"'", step.want)
				lose()
				p.wantLines(t, offerRow+"'"+sku+"'", step.want)
			}
		}
	})
}

// Many sellers change many products at once, through several processes, while runs settle: each
// finds in the book what it was answered, and no run is kept from its work.
func TestSellersTogether(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		var sellers sync.WaitGroup
		first := keptSale(t, client, p, stock.Options{})
		for i, sku := range []string{"a", "b", "c", "d", "e", "f"} {
			s := first
			if i%2 == 1 {
				s = keptSale(t, client, p, stock.Options{})
			}
			sellers.Go(func() {
				put(t, s, sku, 100)
				for n := range int64(20) {
					total := 100 + (n%2*2-1)*n // higher, lower, higher, …
					if err := settled(func() error { _, err := s.Put(t.Context(), sku, total); return err }); err != nil {
						t.Error(err)
					}
					var has int64
					if err := p.db.QueryRowContext(t.Context(), "SELECT put_in FROM product WHERE sku = '"+sku+"'").Scan(&has); err != nil || has != total {
						t.Errorf("%s: the book has %d, %v, its seller was answered %d", sku, has, err, total)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { sellers.Wait(); close(done) }()
		for f, selling := int64(1), true; selling; f++ {
			select {
			case <-done:
				selling = false
			default:
			}
			settle(t, first, p, f, 0)
		}
		if n, err := client.HLen(t.Context(), saleTag+"restocked").Result(); err != nil || n != 0 {
			t.Errorf("restocked has %d fields after the last run, %v", n, err)
		}
	})
}

// A total is lowered to what a cancelled order has given back, before the book has the cancellation:
// its seller is answered when the book has both.
func TestLowerTotalWaitsForItsOrders(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		reserve(t, s, order("a", stock.Item{SKU: "tea", Quantity: 4}))
		settle(t, s, p, 1, 1)
		if _, err := s.Cancel(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(onceAnswered(t, client), "tea", 2); !errors.Is(err, stock.ErrUnsettled) {
			t.Errorf("%v, want ErrUnsettled", err)
		}
		p.wantLines(t, productRows, "tea 5 4 0")
		answer := make(chan error, 1)
		go func() {
			_, err := s.Put(t.Context(), "tea", 2)
			answer <- err
		}()
		select {
		case err := <-answer:
			t.Fatalf("the seller has an answer before the book has the cancellation: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		settle(t, s, p, 2, 1)
		if err := <-answer; err != nil {
			t.Error(err)
		}
		p.wantLines(t, productRows, "tea 2 0 0")
	})
}

// The database holds on to the book: each seller is answered within its own time, in doubt, and when it
// sends the same again the book has it.
func TestSellersUnsettledInTime(t *testing.T) {
	onServers(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		other, err := p.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Rollback() }()
		if _, err := other.ExecContext(t.Context(), "SELECT mark FROM stock_book FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err1 := s.Put(onceAnswered(t, client), "tea", 3)
		_, err2 := s.SetOffer(onceAnswered(t, client), "tea", stock.Offer{Price: 1, Currency: "EUR"})
		for _, err := range []error{err1, err2} {
			if !errors.Is(err, stock.ErrUnsettled) {
				t.Errorf("%v, want ErrUnsettled", err)
			}
		}
		if took := time.Since(began); took > 30*time.Second { // the databases wait for the lock for up to a minute
			t.Errorf("it took %v", took)
		}
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetOffer(t.Context(), "tea", stock.Offer{Price: 1, Currency: "EUR"}); err != nil {
			t.Error(err)
		}
		p.wantLines(t, offerRow+"'tea'", "3 1 EUR")
	})
}

// A run has written a total when it is changed to another one, which the book has at once, and back, which
// it does not have: the run does not mark that as written, and the next run writes it.
func TestTotalThatChangesBack(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		alone := newSale(t, client, stock.Options{}) // as a seller that was not answered in time
		put(t, alone, "tea", 5)
		sent := false
		_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
			if step != "mark" || sent {
				return nil
			}
			sent = true
			put(t, s, "tea", 7)
			p.wantLines(t, productRows, "tea 7 0 0")
			put(t, alone, "tea", 5)
			return nil
		})
		if err != nil || !sent {
			t.Fatal(err, sent)
		}
		settle(t, s, p, 2, 0)
		p.wantLines(t, productRows, "tea 5 0 0")
	})
}

// The store goes back to before a settlement that has written no change of its own: its number is missing.
func TestStoreGoesBackBehindItsMark(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		before, err := client.HGetAll(t.Context(), saleTag+"shelf").Result()
		if err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 1, 0)
		if after := client.HGet(t.Context(), saleTag+"shelf", "changes").Val(); after != before["changes"] {
			t.Fatalf("the settlement counts as a change: %s, before %s", after, before["changes"])
		}
		if err := client.HSet(t.Context(), saleTag+"shelf", "mark", before["mark"]).Err(); err != nil {
			t.Fatal(err)
		}
		if err := newSale(t, client, stock.Options{Book: p.Database}).Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("%v, want ErrStockUnknown", err)
		}
	})
}

// The store goes back to before a seller's change, which the book has: what it still has of it is not written
// over that, and the sale is closed.
func TestOlderStoreWritesNoTotal(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		alone := newSale(t, client, stock.Options{})
		put(t, alone, "tea", 5)
		shelf, err := client.HGetAll(t.Context(), saleTag+"shelf").Result()
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "tea", 4)
		if err := client.HSet(t.Context(), saleTag+"shelf", "mark", shelf["mark"]).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "tea", 9); !errors.Is(err, stock.ErrUnsettled) && !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("%v, want ErrUnsettled or ErrStockUnknown", err)
		}
		p.wantLines(t, productRows, "tea 4 0 0")
		if _, err := s.Put(t.Context(), "tea", 9); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("%v, want ErrStockUnknown", err)
		}
	})
}
