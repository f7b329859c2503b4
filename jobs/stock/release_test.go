package stock_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/guard"
)

// fence is a fence in the range of real ones, where numbers printed carelessly
// lose their last digits.
func fence(n int64) int64 { return 1795207852937400 + n }

func pass(string) error { return nil }

// overdue reserves n orders and waits until they are past their time.
func overdue(t *testing.T, client redis.UniversalClient, n int) *stock.Sale {
	t.Helper()
	s := newSale(t, client, stock.Options{Hold: time.Millisecond})
	put(t, s, "tea", int64(n))
	fill(t, s, n)
	last, err := s.Order(t.Context(), fmt.Sprintf("o-%02d", n-1))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the orders are due", func() bool {
		now, err := client.Time(t.Context()).Result()
		return err == nil && now.After(last.Due)
	})
	return s
}

func TestReleaseExpired(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := overdue(t, client, 10)
		wantProduct(t, s, "tea", 10, 0, 10, 0)
		for n := range int64(2) {
			if err := stock.Release(t.Context(), s, fence(n), pass); err != nil {
				t.Fatal(err)
			}
			wantProduct(t, s, "tea", 10, 10, 0, 0)
		}
		wantState(t, s, "o-00", stock.Expired)
	})
}

// A run stops where a crash would stop it; the next one goes on.
func TestReleaseStoppedAtEachStep(t *testing.T) {
	crash := errors.New("crash")
	for _, at := range []string{"overdue", "expire"} {
		t.Run(at, func(t *testing.T) {
			onStores(t, func(t *testing.T, client redis.UniversalClient) {
				s := overdue(t, client, 3)
				err := stock.Release(t.Context(), s, fence(1), func(step string) error {
					if step == at {
						return crash
					}
					return nil
				})
				if !errors.Is(err, crash) {
					t.Fatalf("%v, want the crash", err)
				}
				if err := stock.Release(t.Context(), s, fence(2), pass); err != nil {
					t.Fatal(err)
				}
				wantProduct(t, s, "tea", 3, 3, 0, 0)
			})
		})
	}
}

// A run is paused past its lease, a later one begins: whatever the paused one does
// when it wakes up is refused, also when the later one has not come so far yet.
func TestPausedReleaseIsFenced(t *testing.T) {
	crash := errors.New("crash")
	for _, at := range []string{"overdue", "expire"} {
		t.Run(at, func(t *testing.T) {
			onStores(t, func(t *testing.T, client redis.UniversalClient) {
				s := overdue(t, client, 3)
				err := stock.Release(t.Context(), s, fence(1), func(step string) error {
					if step != at {
						return nil
					}
					err := stock.Release(t.Context(), s, fence(2), func(step string) error {
						if step == "expire" {
							return crash
						}
						return nil
					})
					if !errors.Is(err, crash) {
						t.Error(err)
					}
					return nil
				})
				if !errors.Is(err, stock.ErrFenced) || !errors.Is(err, guard.ErrStale) {
					t.Errorf("the paused run: %v, want ErrFenced", err)
				}
				wantProduct(t, s, "tea", 3, 0, 3, 0)
			})
		})
	}
}

// Buyers pay and cancel at the moment at which a run releases what they have not
// paid in time: each order ends once, and the counts say the same as the orders.
func TestPayCancelAndReleaseRace(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		const n = 60
		s := newSale(t, client, stock.Options{Hold: 20 * time.Millisecond})
		put(t, s, "tea", n)
		var group sync.WaitGroup
		outcomes := make([]stock.State, n)
		for i := range n {
			group.Go(func() {
				id := fmt.Sprintf("o-%02d", i)
				r, _, err := s.Reserve(t.Context(), order(id))
				if err != nil {
					t.Error(err)
					return
				}
				<-time.After(time.Until(time.Now().Add(15*time.Millisecond + time.Duration(i%10)*time.Millisecond)))
				switch i % 2 {
				case 0:
					r, err = pay(t.Context(), s, id)
				default:
					r, err = s.Cancel(t.Context(), id)
				}
				if closed, ok := errors.AsType[*stock.RefusalError](err); ok {
					r.State = closed.State
				} else if err != nil {
					t.Error(err)
				}
				outcomes[i] = r.State
			})
		}
		stop := make(chan struct{})
		var runs sync.WaitGroup
		runs.Go(func() {
			for f := int64(1); ; f++ {
				if err := stock.Release(t.Context(), s, fence(f), pass); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		group.Wait()
		close(stop)
		runs.Wait()
		sold := int64(0)
		for i, state := range outcomes {
			wantState(t, s, fmt.Sprintf("o-%02d", i), state)
			if state == stock.Paid {
				sold++
			}
		}
		wantProduct(t, s, "tea", n, n-sold, 0, sold)
	})
}

// A record that cannot be read does not keep the other orders from being released:
// it is named once, and left to the settlement, which keeps it back.
func TestReleasePastUnreadable(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{Hold: time.Millisecond})
		put(t, s, "tea", 10)
		reserve(t, s, order("a"))
		if err := client.Set(t.Context(), "cronce:v1:stock:{cronce:shop}:order:a", "reserved 1 2 x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		last := reserve(t, s, order("b"))
		await(t, "the orders are due", func() bool {
			now, err := client.Time(t.Context()).Result()
			return err == nil && now.After(last.Due)
		})
		if err := stock.Release(soon(t), s, fence(1), pass); err == nil || !strings.Contains(err.Error(), "1 reserved orders") {
			t.Errorf("%v, want the unreadable one", err)
		}
		wantState(t, s, "b", stock.Expired)
		wantProduct(t, s, "tea", 10, 9, 1, 0)
		if err := stock.Release(soon(t), s, fence(2), pass); err != nil {
			t.Error(err)
		}
		p := sqlite(t)
		if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), pass); err == nil || !strings.Contains(err.Error(), "1 orders are kept back") {
			t.Errorf("settled: %v, want it kept back", err)
		}
	})
}
