package stock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/jobs/stock"
)

// onFrozen returns a store whose clock stands still until it is set.
func onFrozen(t *testing.T) (*miniredis.Miniredis, redis.UniversalClient, time.Time) {
	m := miniredis.RunT(t)
	at := time.UnixMilli(1_795_207_852_937)
	m.SetTime(at)
	return m, connect(t, m.Addr()), at
}

// soon is a context that ends long after a run that ends by itself.
func soon(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	return ctx
}

// An order can be paid up to the last millisecond of its time. At the end of its
// time it cannot, and the job gives it back.
func TestExactEndOfAnOrder(t *testing.T) {
	t.Parallel()
	const hold = time.Minute
	for _, c := range []struct {
		name    string
		after   time.Duration
		expired bool
	}{
		{"one millisecond before", hold - time.Millisecond, false},
		{"the last microsecond before", hold - time.Microsecond, false},
		{"at the end", hold, true},
		{"one millisecond after", hold + time.Millisecond, true},
	} {
		for settled, where := range map[bool]string{false: "fresh", true: "in the database"} {
			t.Run(c.name+", "+where, func(t *testing.T) {
				m, client, at := onFrozen(t)
				s := newSale(t, client, stock.Options{Hold: hold})
				put(t, s, "tea", 2)
				reserve(t, s, order("buyer"))
				reserve(t, s, order("job"))
				if settled {
					settle(t, s, sqlite(t), 1, 2)
				}
				m.SetTime(at.Add(c.after))
				_, err := pay(t.Context(), s, "buyer")
				if closed, is := errors.AsType[*stock.RefusalError](err); c.expired != is || !is && err != nil || is && closed.State != stock.Expired {
					t.Errorf("Pay: %v", err)
				}
				if err := stock.Release(soon(t), s, fence(1), pass); err != nil {
					t.Fatal(err)
				}
				if c.expired {
					wantState(t, s, "job", stock.Expired)
					wantProduct(t, s, "tea", 2, 2, 0, 0)
				} else {
					wantState(t, s, "job", stock.Reserved)
					wantProduct(t, s, "tea", 2, 0, 1, 1)
				}
			})
		}
	}
}

// An order whose time is over is expired for whatever asks for it next:
// the same order again closes it, and gives back what it reserved, and reading it says so. No job has run.
func TestExactEndForEachQuestion(t *testing.T) {
	t.Parallel()
	const hold = 15 * time.Minute
	for after, want := range map[time.Duration]stock.State{hold - time.Millisecond: stock.Reserved, hold: stock.Expired, hold + time.Hour: stock.Expired} {
		m, client, at := onFrozen(t)
		s := newSale(t, client, stock.Options{Hold: hold})
		put(t, s, "tea", 2)
		o := order("o")
		o.Buyer = "ada"
		reserve(t, s, o)
		m.SetTime(at.Add(after))
		wantState(t, s, "o", want)
		wantProduct(t, s, "tea", 2, 1, 1, 0) // reading changes nothing
		other := o
		other.Receiver = "another"
		if _, _, err := s.Reserve(t.Context(), other); !errors.Is(err, stock.ErrConflict) {
			t.Errorf("after %v: another order under the id: %v, want ErrConflict", after, err)
		}
		for range 2 {
			r, fresh, err := s.Reserve(t.Context(), o)
			if err != nil || fresh || r.State != want {
				t.Errorf("after %v: %+v, new %v, %v, want %s", after, r, fresh, err, want)
			}
		}
		if want == stock.Expired {
			wantProduct(t, s, "tea", 2, 2, 0, 0)
			if n, err := client.HLen(t.Context(), "cronce:v1:stock:{cronce:shop}:bought").Result(); err != nil || n != 0 {
				t.Errorf("the buyer counts %d products, %v", n, err)
			}
		}
		if p := sqlite(t); want == stock.Expired {
			settle(t, s, p, 1, 1)
			p.wantLines(t, "SELECT id, status FROM orders", "o expired")
		}
	}
}

// The job closes only what is past its time in the step that closes it: an order
// that was due when the job looked, by a clock that has been set back since, stays.
func TestExpireLooksAtTheClockItself(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]stock.State{time.Minute - time.Millisecond: stock.Reserved, time.Minute: stock.Expired} {
		m, client, at := onFrozen(t)
		s := newSale(t, client, stock.Options{Hold: time.Minute})
		put(t, s, "tea", 1)
		reserve(t, s, order("o"))
		m.SetTime(at.Add(time.Hour))
		err := stock.Release(soon(t), s, fence(1), func(step string) error {
			if step == "expire" { // the order was found
				m.SetTime(at.Add(after))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, s, "o", want)
	}
}

// The lag is the age of the oldest order, or change of one, that the database lacks: an order is as
// old as it was when it was placed, also when it has ended since.
func TestExactLag(t *testing.T) {
	t.Parallel()
	m, client, at := onFrozen(t)
	s, p := newSale(t, client, stock.Options{Hold: 200 * time.Second}), sqlite(t)
	put(t, s, "tea", 9)
	n := int64(0)
	for _, c := range []struct {
		second int
		do     string // to an order
		id     string
		lag    int // in seconds, after it
	}{
		{0, "none", "", 0},
		{10, "reserve", "a", 0},
		{70, "reserve", "b", 60},
		{110, "none", "", 100},
		{120, "pay", "a", 110},
		{130, "settle", "", 0},
		{150, "pay", "b", 0},
		{155, "none", "", 5},
		{160, "settle", "", 0},
		{200, "reserve", "c", 0},
		{210, "reserve", "d", 10},
		{220, "cancel", "c", 20},
		{399, "none", "", 199},
		{410, "release", "", 210},
		{411, "settle", "", 0},
		{420, "reserve", "e", 0},
		{430, "settle", "", 0},
		{440, "cancel", "e", 0},
		{441, "none", "", 1},
	} {
		m.SetTime(at.Add(time.Duration(c.second) * time.Second))
		var err error
		switch c.do {
		case "reserve":
			reserve(t, s, order(c.id))
		case "pay":
			_, err = pay(t.Context(), s, c.id)
		case "cancel":
			_, err = s.Cancel(t.Context(), c.id)
		case "release":
			err = stock.Release(soon(t), s, fence(1), pass)
		case "settle":
			n++
			_, err = stock.Settle(t.Context(), s, p.Database, 10, fence(n), pass)
		}
		if err != nil {
			t.Fatalf("at %d, %s %s: %v", c.second, c.do, c.id, err)
		}
		if f, err := s.Figures(t.Context()); err != nil || f.Lag != time.Duration(c.lag)*time.Second {
			t.Errorf("at %d, %s %s: the lag is %v, %v, want %ds", c.second, c.do, c.id, f.Lag, err, c.lag)
		}
	}
	p.wantSums(t)
}

// An answer with an order's end counts only when enough replicas have it,
// also that the order is closed. A refusal that changes nothing needs no replica.
func TestClosedIsConfirmed(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t, "--save", "", "--repl-diskless-sync-delay", "0")
	link := rig.NewProxy(t, server.Addr())
	replica(t, link.Addr())
	direct := connect(t, server.Addr())
	free := newSale(t, direct, stock.Options{})
	put(t, free, "tea", 9)
	for _, id := range []string{"paid", "cancelled"} {
		reserve(t, free, order(id))
	}
	_, paid := pay(t.Context(), free, "paid")
	_, cancelled := free.Cancel(t.Context(), "cancelled")
	late := reserve(t, newSale(t, direct, stock.Options{Hold: time.Millisecond}), order("late"))
	if err := errors.Join(paid, cancelled); err != nil {
		t.Fatal(err)
	}
	await(t, "the order is due", func() bool {
		now, err := direct.Time(t.Context()).Result()
		return err == nil && now.After(late.Due)
	})
	link.Set(rig.Faults{Hole: true})
	for _, c := range []struct {
		name  string
		ask   func(s *stock.Sale) error
		doubt bool
	}{
		{"pay too late", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "late"); return err }, true},
		{"pay too late, again", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "late"); return err }, true},
		{"pay a cancelled one", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "cancelled"); return err }, true},
		{"cancel a paid one", func(s *stock.Sale) error { _, err := s.Cancel(t.Context(), "paid"); return err }, true},
		{"cancel again", func(s *stock.Sale) error { _, err := s.Cancel(t.Context(), "cancelled"); return err }, true},
		{"pay an unknown one", func(s *stock.Sale) error { _, err := pay(t.Context(), s, "unknown"); return err }, false},
		{"another order with its id", func(s *stock.Sale) error {
			_, _, err := s.Reserve(t.Context(), order("paid", stock.Item{SKU: "tea", Quantity: 2}))
			return err
		}, false},
		{"sold out", func(s *stock.Sale) error {
			_, _, err := s.Reserve(t.Context(), order("new", stock.Item{SKU: "tea", Quantity: 10}))
			return err
		}, false},
	} {
		s := newSale(t, connect(t, server.Addr()), stock.Options{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond})
		if err := c.ask(s); err == nil || errors.Is(err, stock.ErrUnconfirmed) != c.doubt {
			t.Errorf("%s: %v, want doubt: %v", c.name, err, c.doubt)
		}
	}
}
