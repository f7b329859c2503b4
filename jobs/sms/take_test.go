package sms_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// A run takes three messages and is paused. The next run takes them over. When
// the first wakes up it can neither take nor mark, and nothing it tries has left a
// trace.
func TestPausedHolderIsRefused(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 5)
		paused, next := holder(1), holder(2)
		old := take(t, o, paused, 3)
		taken := take(t, o, next, 2)
		if want := []string{"m-00", "m-01"}; !slices.Equal(ids(taken), want) {
			t.Fatalf("the next run took %v, want %v first: the older run left them", ids(taken), want)
		}
		before := get(t, o, "m-00")
		for name, err := range map[string]error{
			"sent":   o.Mark(t.Context(), paused, old[0].Sent(0)),
			"failed": o.Mark(t.Context(), paused, old[1].Failed(0, "late")),
			"retry":  o.Mark(t.Context(), paused, old[2].Retry(0, 0, "late")),
			"back":   o.Mark(t.Context(), paused, old[2].Back()),
		} {
			if !errors.Is(err, sms.ErrFenced) {
				t.Errorf("late mark %s = %v, want ErrFenced", name, err)
			}
		}
		if _, err := o.Take(t.Context(), paused, 5); !errors.Is(err, sms.ErrFenced) {
			t.Errorf("late take = %v, want ErrFenced", err)
		}
		if after := get(t, o, "m-00"); after != before {
			t.Errorf("m-00 is %+v after the late marks, was %+v", after, before)
		}
		mark(t, o, next, taken[0].Sent(0), taken[1].Sent(0))
		rest := take(t, o, next, 5)
		if want := []string{"m-02", "m-03", "m-04"}; !slices.Equal(ids(rest), want) {
			t.Fatalf("took %v, want %v", ids(rest), want)
		}
		mark(t, o, next, rest[0].Sent(0), rest[1].Sent(0), rest[2].Sent(0))
		// m-00 to m-02 may have been sent by the paused run too, and it shows.
		wantCounts(t, o, sms.Counts{Sent: 5, Once: 2, Repeated: 3})
	})
}

func TestFence(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, next sms.Holder
		fenced      bool
	}{
		{"higher", holder(1), holder(2), false},
		{"higher by much", holder(1), holder(1_000_000_000), false},
		{"lower by one", holder(2), holder(1), true},
		{"same fence, same run", holder(1), holder(1), false},
		{"same fence, another run", holder(1), sms.Holder{Run: "cronce/sendSms@other", Fence: holder(1).Fence}, true},
		{"lower by one, same run: an earlier attempt", holder(2), sms.Holder{Run: holder(2).Run, Fence: holder(1).Fence}, true},
		{"higher fence, same run: a second attempt", holder(1), sms.Holder{Run: holder(1).Run, Fence: holder(2).Fence}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 2)
				take(t, o, c.first, 1)
				if _, err := o.Take(t.Context(), c.next, 1); errors.Is(err, sms.ErrFenced) != c.fenced {
					t.Errorf("Take = %v, want fenced %v", err, c.fenced)
				}
			})
		})
	}
}

// A run without messages raises the fence as well, so earlier runs stay excluded.
func TestEmptyTakeRaisesTheFence(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		take(t, o, holder(2), 1)
		fill(t, o, 1)
		if _, err := o.Take(t.Context(), holder(1), 1); !errors.Is(err, sms.ErrFenced) {
			t.Errorf("Take = %v, want ErrFenced", err)
		}
	})
}

// Only the run that has taken a piece last marks it: not another run with its fence, nor
// an earlier or a later attempt of its own.
func TestMarkOfAnother(t *testing.T) {
	h := holder(2)
	for name, other := range map[string]sms.Holder{
		"another run with the fence": {Run: "cronce/sendSms@other", Fence: h.Fence},
		"an earlier attempt":         {Run: h.Run, Fence: h.Fence - 1},
		"a later attempt":            {Run: h.Run, Fence: h.Fence + 1},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				p := take(t, o, h, 1)[0]
				if err := o.Mark(t.Context(), other, p.Sent(0)); !errors.Is(err, sms.ErrFenced) {
					t.Errorf("Mark = %v, want ErrFenced", err)
				}
				if r := get(t, o, "m-00"); r.State != sms.Taken {
					t.Errorf("it is %s", r.State)
				}
			})
		})
	}
}

// A message is due at its instant, not a millisecond before; it is kept for as long as is
// said, and not a millisecond longer; given back it has its old place.
func TestExactInstants(t *testing.T) {
	server := miniredis.RunT(t)
	o, err := sms.NewOutbox(connect(t, &redis.Options{Addr: server.Addr()}), sms.Options{Retention: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	due := time.Date(2027, 1, 1, 18, 0, 0, 0, time.UTC)
	server.SetTime(due.Add(-time.Hour))
	accept(t, o, sms.Message{ID: "first", To: "+12025550101", Text: "x", At: due}, true)
	accept(t, o, sms.Message{ID: "second", To: "+12025550102", Text: "x", At: due.Add(time.Millisecond)}, true)

	server.SetTime(due.Add(-time.Millisecond))
	wantCounts(t, o, sms.Counts{Queued: 2})
	if early := take(t, o, holder(1), 9); len(early) != 0 {
		t.Fatalf("took %v before it was due", ids(early))
	}
	server.SetTime(due)
	wantCounts(t, o, sms.Counts{Queued: 2, Due: 1})
	p := take(t, o, holder(1), 9)
	if !slices.Equal(ids(p), []string{"first"}) {
		t.Fatalf("took %v", ids(p))
	}
	server.SetTime(due.Add(time.Minute))
	mark(t, o, holder(1), p[0].Back())
	if p = take(t, o, holder(1), 1); !slices.Equal(ids(p), []string{"first"}) {
		t.Fatalf("took %v, but what was given back was due earlier", ids(p))
	}
	mark(t, o, holder(1), p[0].Sent(0))

	for _, c := range []struct {
		after time.Duration
		want  int
	}{{time.Minute, 0}, {time.Minute + time.Millisecond, 1}} {
		server.SetTime(due.Add(time.Minute + c.after))
		if n, err := o.Trim(t.Context()); n != c.want || err != nil {
			t.Errorf("%v after it was sent Trim = %d, %v, want %d", c.after, n, err, c.want)
		}
	}
}

func TestMarkMoves(t *testing.T) {
	for _, c := range []struct {
		name  string
		mark  func(p sms.Piece) sms.Mark
		state sms.State
		tries int
		sends int
		delay time.Duration
	}{
		{"sent", func(p sms.Piece) sms.Mark { return p.Sent(0) }, sms.Sent, 1, 1, 0},
		{"sent after doubt", func(p sms.Piece) sms.Mark { return p.Sent(2) }, sms.Sent, 1, 3, 0},
		{"failed", func(p sms.Piece) sms.Mark { return p.Failed(0, "no") }, sms.Failed, 1, 0, 0},
		{"retry", func(p sms.Piece) sms.Mark { return p.Retry(time.Hour, 1, "busy") }, sms.Queued, 1, 1, time.Hour},
		{"back", func(p sms.Piece) sms.Mark { return p.Back() }, sms.Queued, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				due := get(t, o, "m-00").Due
				p := take(t, o, holder(1), 1)[0]
				// The second mark is the first one sent again.
				mark(t, o, holder(1), c.mark(p))
				first := get(t, o, "m-00")
				mark(t, o, holder(1), c.mark(p))
				r := get(t, o, "m-00")
				if r != first {
					t.Errorf("marked again it is %+v, was %+v", r, first)
				}
				if r.State != c.state || r.Attempts != c.tries || r.Sends != c.sends {
					t.Errorf("%s after %d attempts and %d sends, want %s, %d, %d",
						r.State, r.Attempts, r.Sends, c.state, c.tries, c.sends)
				}
				if late := r.Due.Sub(due); late < c.delay || late > c.delay+time.Minute {
					t.Errorf("due %v later than before, want %v", late, c.delay)
				}
			})
		})
	}
}

// A message that must wait is not taken before it is due, and then with a higher attempt.
func TestRetryWaits(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 1)
		p := take(t, o, holder(1), 1)[0]
		mark(t, o, holder(1), p.Retry(300*time.Millisecond, 0, "busy"))
		due := get(t, o, "m-00").Due
		var again []sms.Piece
		await(t, func() bool {
			again = take(t, o, holder(1), 1)
			return len(again) > 0
		})
		if r := get(t, o, "m-00"); r.Changed.Before(due) {
			t.Errorf("taken at %v, before it was due at %v", r.Changed, due)
		}
		if again[0].Attempt != 2 {
			t.Errorf("attempt %d, want 2", again[0].Attempt)
		}
		// The mark of the first attempt does not touch the second.
		if err := o.Mark(t.Context(), holder(1), p.Sent(0)); !errors.Is(err, sms.ErrFenced) {
			t.Errorf("mark of an earlier attempt = %v, want ErrFenced", err)
		}
	})
}

// A run that failed to mark takes again: it gets the same messages, and they
// count as perhaps sent before.
func TestTakeAgainWithoutMark(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 3)
		first := take(t, o, holder(1), 2)
		again := take(t, o, holder(1), 2)
		if !slices.Equal(ids(first), ids(again)) {
			t.Fatalf("took %v, then %v", ids(first), ids(again))
		}
		if again[0].Attempt != 2 || get(t, o, "m-00").Sends != 1 {
			t.Errorf("attempt %d, %d sends, want 2 and 1", again[0].Attempt, get(t, o, "m-00").Sends)
		}
	})
}

// Part of a mark may be refused; the rest is recorded.
func TestMarkNamesWhatIsNotOurs(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 2)
		h := holder(1)
		p := take(t, o, h, 2)
		client.HDel(t.Context(), "cronce:v1:sms:{cronce}:status", "m-00")
		err := o.Mark(t.Context(), h, p[0].Sent(0), p[1].Sent(0))
		if !errors.Is(err, sms.ErrFenced) || !strings.Contains(err.Error(), `1 of 2 messages are not this run's, the first is "m-00"`) {
			t.Errorf("Mark = %v", err)
		}
		if r := get(t, o, "m-01"); r.State != sms.Sent {
			t.Errorf("m-01 is %s, want sent", r.State)
		}
	})
}

func TestTakeAndMarkRefuse(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	o := outbox(t, client)
	for _, c := range []struct {
		h    sms.Holder
		n    int
		want string
	}{
		{sms.Holder{Run: "", Fence: 1}, 1, "run is"},
		{sms.Holder{Run: "a b", Fence: 1}, 1, "run is"},
		{sms.Holder{Run: "-", Fence: 1}, 1, "run is"},
		{sms.Holder{Run: "r", Fence: 0}, 1, "fence is 0"},
		{sms.Holder{Run: "r", Fence: 1 << 53}, 1, "fence is 9007199254740992"},
		{holder(1), 0, "n is 0"},
		{holder(1), 501, "n is 501"},
	} {
		if _, err := o.Take(t.Context(), c.h, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Take(%+v, %d) = %v, want %q in it", c.h, c.n, err, c.want)
		}
	}
	if err := o.Mark(t.Context(), holder(1)); err != nil {
		t.Errorf("Mark of nothing = %v", err)
	}
	if err := o.Mark(t.Context(), holder(1), make([]sms.Mark, 501)...); err == nil || !strings.Contains(err.Error(), "marks is 501") {
		t.Errorf("Mark of 501 = %v", err)
	}
}
