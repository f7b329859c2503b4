package stock_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// loseOrder takes a settled order out of the store.
func loseOrder(t *testing.T, client redis.UniversalClient, id string) {
	t.Helper()
	const tag = "cronce:v1:stock:{cronce:shop}:"
	err := client.ZRem(t.Context(), tag+"due", id).Err()
	if err = errors.Join(err, client.Del(t.Context(), tag+"order:"+id).Err()); err != nil {
		t.Fatal(err)
	}
}

// rebuild empties the store and rebuilds the shelf, by another process.
func rebuild(t *testing.T, client redis.UniversalClient, other *stock.Sale) error {
	t.Helper()
	err := client.FlushAll(t.Context()).Err()
	if err == nil {
		_, err = other.RestoreNow(t.Context())
	}
	return err
}

// A run of reconcile has found that the store has lost an order. Before it reports that, the order
// is in the store again and a later run has begun, or the shelf was rebuilt: the run closes nothing.
func TestPausedReconcileClosesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(t *testing.T, client redis.UniversalClient, s, other *stock.Sale, p place, record string) error
		want    error
	}{
		{"a later run", func(t *testing.T, client redis.UniversalClient, s, other *stock.Sale, p place, record string) error {
			const tag = "cronce:v1:stock:{cronce:shop}:"
			err := client.Set(t.Context(), tag+"order:a", record, 0).Err()
			err = errors.Join(err, client.ZAdd(t.Context(), tag+"due", redis.Z{Score: 1e13, Member: "a"}).Err())
			return errors.Join(err, stock.Reconciliation(t.Context(), other, p.Database, fence(2), pass, nil))
		}, stock.ErrFenced},
		{"a later run, and a rebuild", func(t *testing.T, client redis.UniversalClient, s, other *stock.Sale, p place, _ string) error {
			err := rebuild(t, client, other)
			err = errors.Join(err, s.Probe(t.Context())) // as Watch does
			return errors.Join(err, stock.Reconciliation(t.Context(), other, p.Database, fence(2), pass, nil))
		}, stock.ErrFenced},
		{"a rebuild that its process does not know", func(t *testing.T, client redis.UniversalClient, _, other *stock.Sale, _ place, _ string) error {
			return rebuild(t, client, other)
		}, nil},
		{"a rebuild that its process knows", func(t *testing.T, client redis.UniversalClient, s, other *stock.Sale, _ place, _ string) error {
			return errors.Join(rebuild(t, client, other), s.Probe(t.Context()))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s, other := keptSale(t, client, p, stock.Options{}), keptSale(t, client, p, stock.Options{})
			put(t, s, "tea", 9)
			reserve(t, s, order("a"))
			settleAll(t, s, p)
			record, err := client.Get(t.Context(), "cronce:v1:stock:{cronce:shop}:order:a").Result()
			if err != nil {
				t.Fatal(err)
			}
			loseOrder(t, client, "a")
			err = stock.Reconciliation(t.Context(), s, p.Database, fence(1), func(step string) error {
				if step != "report" {
					return nil
				}
				return c.between(t, client, s, other, p, record)
			}, nil)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("the run: %v, want %v", err, c.want)
			}
			if err := other.Probe(t.Context()); err != nil {
				t.Errorf("the sale is closed: %v", err)
			}
		})
	}
}

// A run of settleOrders that was paused past its lease before it writes, while a later run has begun
// and not written yet, writes nothing.
func TestPausedSettlementWritesNothing(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 9)
	reserve(t, s, order("a"))
	stop := errors.New("stopped")
	_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
		if step != "write" {
			return nil
		}
		_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), func(step string) error {
			if step == "write" {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) {
			t.Errorf("the later run: %v", err)
		}
		return nil
	})
	if !errors.Is(err, stock.ErrFenced) {
		t.Errorf("the run: %v, want ErrFenced", err)
	}
	p.wantLines(t, "SELECT id, status FROM orders")
}
