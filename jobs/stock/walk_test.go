package stock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// Runs that compare two orders of each side find what is wrong with the last one, and begin again
// behind it: on each side, and also where another process goes on.
func TestReconcileWalks(t *testing.T) {
	const tag = "cronce:v1:stock:{cronce:shop}:"
	for _, c := range []struct {
		name   string
		damage func(client redis.UniversalClient, p place) error
	}{
		{"an order that the book has lost", func(client redis.UniversalClient, p place) error {
			p.do(t, "DELETE FROM order_item WHERE order_id = 'o-06'")
			p.do(t, "DELETE FROM orders WHERE id = 'o-06'")
			p.do(t, "UPDATE product SET reserved = 6")
			err := client.HIncrBy(t.Context(), tag+"reserved", "tea", -1).Err() // so that the counts are equal
			return errors.Join(err, client.HIncrBy(t.Context(), tag+"stock", "tea", 1).Err())
		}},
		{"an order that the store has lost", func(client redis.UniversalClient, _ place) error {
			client.ZRem(t.Context(), tag+"due", "o-06")
			return client.Del(t.Context(), tag+"order:o-06").Err()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := newSale(t, client, stock.Options{})
			put(t, s, "tea", 100)
			for i := range 7 {
				reserve(t, s, order(fmt.Sprintf("o-%02d", i)))
			}
			settle(t, s, p, 1, 7)
			run := func() (found bool) {
				t.Helper()
				return stock.ReconcileSome(t.Context(), newSale(t, client, stock.Options{}), p.Database, nextFence(), 2) != nil
			}
			for range 9 {
				if run() {
					t.Fatal("something is found, and nothing is wrong")
				}
			}
			if err := client.Del(t.Context(), tag+"walk").Err(); err != nil { // so that the next run begins with the first
				t.Fatal(err)
			}
			if err := c.damage(client, p); err != nil {
				t.Fatal(err)
			}
			if run() {
				t.Error("the first run finds it: it compares more than two")
			}
			found := 0
			for range 3 {
				if run() {
					found++
				}
			}
			if found == 0 {
				t.Error("the runs that follow do not find it")
			}
		})
	}
}

// Orders that are due at one instant are walked over, too.
func TestReconcileWalksOverAnInstant(t *testing.T) {
	const tag = "cronce:v1:stock:{cronce:shop}:"
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 100)
	fill(t, s, 6)
	settle(t, s, p, 1, 6)
	var all []redis.Z
	for i := range 6 {
		all = append(all, redis.Z{Score: 4e12 + float64(i/5), Member: fmt.Sprintf("o-%02d", i)})
	}
	if err := client.ZAdd(t.Context(), tag+"due", all...).Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[4000000000000 2]", "[4000000000000 4]", "[4000000000001 1]", "[ 0]", "[4000000000000 2]"} {
		if err := stock.ReconcileSome(t.Context(), s, p.Database, nextFence(), 2); err != nil {
			t.Fatal(err)
		}
		if got, err := client.HMGet(t.Context(), tag+"walk", "due", "same").Result(); err != nil || fmt.Sprint(got) != want {
			t.Errorf("the next run begins behind %v, %v, want %s", got, err, want)
		}
	}
}
