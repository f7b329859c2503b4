package stock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

func newStream(t testing.TB, s *stock.Sale, client redis.UniversalClient) *stock.Stream {
	t.Helper()
	to, err := stock.NewStream(s, client, stock.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// streamed reads a stream: id, kind and order of each entry.
func streamed(t testing.TB, client redis.UniversalClient, key string) (lines []string) {
	t.Helper()
	entries, err := client.XRange(t.Context(), key, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		lines = append(lines, fmt.Sprint(e.ID, " ", e.Values["kind"], " ", e.Values["order"]))
	}
	return lines
}

func wantStream(t testing.TB, client redis.UniversalClient, key string, want ...string) {
	t.Helper()
	if got := streamed(t, client, key); !slices.Equal(got, want) {
		t.Errorf("the stream has %q, want %q", got, want)
	}
}

// streamSale is a sale of 100 tea whose events go to a stream.
func streamSale(t testing.TB) (*stock.Sale, redis.UniversalClient, place, *stock.Stream) {
	t.Helper()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	to := newStream(t, s, client)
	deliver(t, s, to)
	return s, client, p, to
}

// The stream has each event once, in order: when a run ended before it could write down how
// far it was, when the stream was lost, and when it has gone back to an older state.
func TestStream(t *testing.T) {
	s, client, p, to := streamSale(t)
	var want []string
	more := func(id string) {
		reserve(t, s, order(id))
		settleAll(t, s, p)
		want = append(want, fmt.Sprintf("%d-0 reserved %s", len(want)+1, id))
	}
	more("a")
	more("b")
	crash := errors.New("crash")
	err := stock.Deliver(t.Context(), s, to, nextFence(), func(step string) error {
		if step == "advance" {
			return crash
		}
		return nil
	})
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}
	wantStream(t, client, to.Key(), want...)
	more("c")
	deliver(t, s, to)
	wantStream(t, client, to.Key(), want...)
	p.wantLines(t, "SELECT seq, since FROM stock_cursor", "3 0")

	if err := client.Del(t.Context(), to.Key()).Err(); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), want...)

	saved, err := client.Dump(t.Context(), to.Key()).Result()
	if err != nil {
		t.Fatal(err)
	}
	more("d")
	more("e")
	deliver(t, s, to)
	if err := client.RestoreReplace(t.Context(), to.Key(), 0, saved).Err(); err != nil {
		t.Fatal(err)
	}
	wantStream(t, client, to.Key(), want[:3]...)
	more("f")
	deliver(t, s, to)
	wantStream(t, client, to.Key(), want...)

	// A consumer has deleted entries, and the stream gets nothing twice.
	if err := client.XTrimMaxLen(t.Context(), to.Key(), 0).Err(); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key())
}

// Events that were skipped are not delivered, also by a stream, and also once they were given up. One that is
// tried again is delivered, and what the stream loses later it gets again.
func TestSkipEventOfStream(t *testing.T) {
	s, client, p, to := streamSale(t)
	for _, id := range []string{"a", "b", "c"} {
		reserve(t, s, order(id))
		settleAll(t, s, p)
		if id == "a" {
			deliver(t, s, to)
		}
	}
	d := stock.Decision{By: "Ada", Reason: "x"}
	for seq := range int64(2) {
		if err := s.SkipEvent(t.Context(), "stream", 2+seq, d); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), "1-0 reserved a")
	if err := s.DropAside(t.Context(), "stream", 2, d); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), "1-0 reserved a")
	if _, err := s.TryAside(t.Context(), "stream", 3); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), "1-0 reserved a", "3-0 reserved c")

	older := to.Key() + ".older"
	if err := client.Copy(t.Context(), to.Key(), older, 0, false).Err(); err != nil {
		t.Fatal(err)
	}
	reserve(t, s, order("d"))
	settleAll(t, s, p)
	want := []string{"1-0 reserved a", "3-0 reserved c", "4-0 reserved d"}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), want...)
	if err := client.Rename(t.Context(), older, to.Key()).Err(); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	wantStream(t, client, to.Key(), want...)
}

// A stream that begins later begins with what comes then, and one with events that the book
// does not have is left as it is.
func TestStreamOfOthers(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	var first listener
	s := eventSale(t, client, p, &first)
	reserve(t, s, order("a"))
	settleAll(t, s, p)
	to := newStream(t, s, client)
	deliver(t, s, to)
	reserve(t, s, order("b"))
	settleAll(t, s, p)
	deliver(t, s, to)
	wantStream(t, client, to.Key(), "2-0 reserved b")

	for _, id := range []string{"3-0", "1000-0", "1-1"} {
		if err := client.Del(t.Context(), to.Key()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: to.Key(), ID: id, Values: []string{"id", "of another"}}).Err(); err != nil {
			t.Fatal(err)
		}
		p.do(t, "UPDATE stock_cursor SET next_at = 0")
		if id == "3-0" {
			reserve(t, s, order("c"))
			settleAll(t, s, p)
		}
		err := stock.Deliver(t.Context(), s, to, nextFence(), pass)
		if err == nil || !strings.Contains(err.Error(), "stream") {
			t.Errorf("with %s: %v, want an error", id, err)
		}
		if entries, err := client.XLen(t.Context(), to.Key()).Result(); err != nil || entries != 1 {
			t.Errorf("with %s: %d entries, %v", id, entries, err)
		}
	}
	deliver(t, s, &first)
	wantWays(t, first.all(), 1, "a reserved", "b reserved", "c reserved")
}

// A run that was stopped while the next one worked adds nothing to a stream that was emptied
// meanwhile, and cannot move the cursor.
func TestStreamOfStoppedRun(t *testing.T) {
	s, client, p, old := streamSale(t)
	now := newStream(t, s, client)
	reserve(t, s, order("a"))
	settleAll(t, s, p)
	deliver(t, s, old)
	reserve(t, s, order("b"))
	settleAll(t, s, p)
	f := nextFence()
	err := stock.Deliver(t.Context(), s, old, f, func(step string) error {
		if step == "deliver" {
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "lost events") {
		t.Errorf("into an emptied stream: %v", err)
	}
	p.do(t, "UPDATE stock_cursor SET next_at = 0")
	deliver(t, s, now)
	wantStream(t, client, now.Key(), "1-0 reserved a", "2-0 reserved b")
	if err := stock.Deliver(t.Context(), s, old, f, pass); err != nil {
		t.Error(err) // there is nothing to do
	}
	p.do(t, "INSERT INTO stock_event SELECT sale, 3, 'x', placed_at, kind, at, payload, written_at FROM stock_event WHERE seq = 2")
	if err := stock.Deliver(t.Context(), s, old, f, pass); !errors.Is(err, stock.ErrFenced) {
		t.Errorf("an older fence: %v, want ErrFenced", err)
	}
	p.wantLines(t, "SELECT seq FROM stock_cursor", "2")
}

// A key that holds something else is left as it is. When it is gone, the trouble is over, also while
// there is nothing to deliver.
func TestStreamOfAnotherType(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	to := newStream(t, s, client)
	deliver(t, s, to)
	if err := client.Set(t.Context(), to.Key(), "other", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Deliver = %v, want WRONGTYPE", err)
	}
	if text, err := client.GetDel(t.Context(), to.Key()).Result(); text != "other" {
		t.Errorf("the key has %q, %v", text, err)
	}
	p.wantLines(t, "SELECT tries FROM stock_cursor", "1")
	p.do(t, "UPDATE stock_cursor SET next_at = 0")
	deliver(t, s, to)
	targets, err := s.Targets(t.Context())
	if err != nil || len(targets) != 1 || targets[0].Tries != 0 || targets[0].Trouble != "" {
		t.Errorf("targets %+v, %v", targets, err)
	}
}
