package stock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// Events go when they are old and all targets have them. A target that no node has any more is
// waited for, and then forgotten; when there is none left no events are written.
func TestSweepEvents(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		var fast listener
		s := eventSale(t, client, p, &fast)
		slow := newStream(t, s, client)
		deliver(t, s, slow)
		fill(t, s, 3)
		settleAll(t, s, p)
		deliver(t, s, &fast)
		count := func(want int) {
			t.Helper()
			p.wantLines(t, "SELECT COUNT(*) FROM stock_event", fmt.Sprint(want))
		}
		sweep := func() {
			t.Helper()
			if err := stock.Sweep(t.Context(), s, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		p.do(t, "UPDATE stock_event SET written_at = written_at - 7200000 WHERE seq < 3")
		sweep()
		count(3) // the stream has none yet
		deliver(t, s, slow)
		sweep()
		count(1) // the third is not old
		p.wantLines(t, "SELECT seq FROM stock_event", "3")
		reserve(t, s, order("later"))
		settleAll(t, s, p)
		p.do(t, "UPDATE stock_cursor SET seen_at = seen_at - 7200000 WHERE target = 'stream'")
		p.do(t, "UPDATE stock_event SET written_at = written_at - 7200000")
		deliver(t, s, &fast)
		deliver(t, s, slow) // it is there after all
		sweep()
		p.wantLines(t, "SELECT target FROM stock_cursor ORDER BY target", "listener", "stream")
		count(0)
		p.do(t, "UPDATE stock_cursor SET seen_at = seen_at - 7200000")
		sweep()
		p.wantLines(t, "SELECT COUNT(*) FROM stock_cursor", "0")
		if _, err := pay(t.Context(), s, "later"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		count(0)
		wantWays(t, fast.all(), 1, "later reserved", "o-00 reserved", "o-01 reserved", "o-02 reserved")
		deliver(t, s, &fast) // it begins anew
		if _, err := s.Refund(t.Context(), "later", "back", "pay-later"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		p.wantLines(t, "SELECT seq, kind FROM stock_event", "5 refunded")
	})
}

// How far a target is can be seen, and why it is not further.
func TestTargets(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	var to listener
	s := eventSale(t, client, p, &to)
	fill(t, s, 2)
	settleAll(t, s, p)
	targets, err := s.Targets(t.Context())
	if err != nil || len(targets) != 1 || targets[0].Name != "listener" || targets[0].Lag != 2 || targets[0].Behind < 0 {
		t.Errorf("targets %+v, %v", targets, err)
	}
	to.answer = func([]stock.Event) stock.Delivery {
		return stock.Delivery{Done: 1, Err: fmt.Errorf("no\x1bt now")}
	}
	if err := stock.Deliver(t.Context(), s, &to, nextFence(), pass); err == nil {
		t.Error("no error")
	}
	targets, err = s.Targets(t.Context())
	if err != nil || targets[0].Lag != 1 || targets[0].Tries != 1 || targets[0].Trouble != "no?t now" || targets[0].Wait <= 0 {
		t.Errorf("targets %+v, %v", targets, err)
	}
}
