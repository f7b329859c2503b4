package sms_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// Every five seconds for an hour a run finds a gateway that refuses everything. No
// message is lost and none has lost an attempt; when the gateway is back all are sent.
func TestAnHourOfRefusalsLosesNothing(t *testing.T) {
	for name, refusal := range map[string]error{
		"503":            &sms.GatewayError{Status: 503},
		"429":            &sms.GatewayError{Status: 429, Pause: true, After: 90 * time.Second},
		"500":            &sms.GatewayError{Status: 500, Unsure: true},
		"not its errors": errors.New("broken pipe"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 20, func(t *testing.T, b *bubble) {
				requests := 0
				down := gatewayFunc(func(context.Context, sms.Message) error { requests++; return refusal })
				n := int64(0)
				for range 720 {
					n++
					_ = sms.Deliver(t.Context(), b.outbox, down, holder(n), always, slog.New(slog.DiscardHandler), sms.Attempts(3), sms.Concurrency(1))
					time.Sleep(5 * time.Second)
				}
				if requests > 20*70 {
					t.Errorf("%d requests in an hour, want one for each message and pause", requests)
				}
				if r := get(t, b.outbox, "m-00"); r.Attempts != 0 || r.State != sms.Queued {
					t.Errorf("m-00 is %s after %d attempts, want it queued after none", r.State, r.Attempts)
				}
				for range 190 { // the longest wait follows a request that may have been accepted
					n++
					_ = b.run(n)
					time.Sleep(5 * time.Second)
				}
				if c, err := b.outbox.Counts(t.Context()); err != nil || c.Sent != 20 {
					t.Errorf("Counts = %+v, %v, want all 20 sent", c, err)
				}
				if p, err := b.outbox.Paused(t.Context()); err != nil || p != (sms.Pause{}) {
					t.Errorf("Paused = %+v, %v, want no pause", p, err)
				}
			})
		})
	}
}

// A real HTTP server refuses by each status. Refusals of us pause the gateway and count
// no attempt, refusals of the message end the message and nothing else.
func TestHTTPPauses(t *testing.T) {
	for _, c := range []struct {
		status   int // 0: the server is away
		after    string
		requests int64 // in the first run, for three messages
		pause    time.Duration
		tries    int64 // requests of the next run, for a message that was never refused
	}{
		{401, "", 3, 5 * time.Second, 0}, {402, "", 3, 5 * time.Second, 0}, {405, "", 3, 5 * time.Second, 0}, {407, "", 3, 5 * time.Second, 0},
		{429, "", 3, 5 * time.Second, 0}, {429, "120", 3, 2 * time.Minute, 0}, {429, "86400", 3, time.Hour, 0},
		{403, "", 9, 5 * time.Second, 1}, {408, "", 9, 5 * time.Second, 1}, {302, "", 9, 5 * time.Second, 1},
		{500, "", 9, 5 * time.Second, 1}, {502, "", 9, 5 * time.Second, 1}, {503, "", 9, 5 * time.Second, 1}, {504, "", 9, 5 * time.Second, 1},
		{503, "40", 3, 40 * time.Second, 0}, {503, "86400", 3, time.Hour, 0},
		{0, "", 0, 5 * time.Second, 0},
		{404, "", 3, 5 * time.Second, 1}, {410, "", 3, 5 * time.Second, 1},
		{400, "", 3, 0, 0}, {422, "", 3, 0, 0},
	} {
		t.Run(fmt.Sprintf("%d %s", c.status, c.after), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			all := make(chan struct{}) // three have come: an answer before that may stop the others
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 3 {
					close(all)
				}
				select {
				case <-all:
				case <-r.Context().Done():
				}
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.status)
			}))
			defer server.Close()
			if c.status == 0 {
				server.Close()
			}
			o := outbox(t, newMini(t))
			fill(t, o, 3)
			g := newHTTP(t, sms.HTTPConfig{URL: server.URL, Token: "s3cret"})
			before := time.Now()
			err := sms.Deliver(t.Context(), o, g, holder(1), always, slog.New(slog.DiscardHandler), sms.Attempts(1))
			delivering := time.Since(before)
			if requests.Load() != c.requests {
				t.Errorf("%d requests, want %d", requests.Load(), c.requests)
			}
			if c.pause == 0 {
				wantCounts(t, o, sms.Counts{Failed: 3})
				return
			}
			if err == nil {
				t.Error("the run ended well")
			}
			p, err := o.Paused(t.Context())
			if took := p.Until.Sub(before); err != nil || p.Pauses != 1 || took < c.pause-time.Millisecond || took > c.pause+delivering+time.Millisecond {
				t.Errorf("Paused = %+v, %v: for %v, want %v", p, err, took, c.pause)
			}
			if strings.Contains(p.Reason, "s3cret") || strings.Contains(p.Reason, "44770090") {
				t.Errorf("shows a secret or a recipient: %s", p.Reason)
			}
			if r := get(t, o, "m-00"); r.State != sms.Queued || r.Attempts != 0 || r.Due.After(p.Until.Add(delivering+time.Millisecond)) {
				t.Errorf("m-00 is %s after %d attempts, due %v, want it queued after none until the end of the pause, %v", r.State, r.Attempts, r.Due, p.Until)
			}
			accept(t, o, sms.Message{ID: "new", To: "+12025550101", Text: "x"}, true)
			asked := requests.Load()
			err = sms.Deliver(t.Context(), o, g, holder(2), always, slog.New(slog.DiscardHandler), sms.Attempts(1))
			if _, ok := errors.AsType[*sms.PausedError](err); ok != (c.tries == 0) || requests.Load() != asked+c.tries {
				t.Errorf("the next run = %v after %d requests, want it paused after %d", err, requests.Load()-asked, c.tries)
			}
			asked = requests.Load()
			err = sms.Deliver(t.Context(), o, g, holder(3), always, slog.New(slog.DiscardHandler), sms.Attempts(1))
			if requests.Load() != asked {
				t.Errorf("the run after that = %v after %d requests, want none: all were refused", err, requests.Load()-asked)
			}
		})
	}
}

// Sixty-four messages fail, in each way and however slowly, and the gateway is paused. A good message
// that is accepted during the pause leaves in the next run, which ends the pause, and so does one that
// is accepted then. The pause no longer holds for messages that fail meanwhile.
func TestFailingMessagesDelayNoGoodOne(t *testing.T) {
	for name, refusal := range map[string]error{
		"503": &sms.GatewayError{Status: 503}, "500": &sms.GatewayError{Status: 500, Unsure: true}, "403": &sms.GatewayError{Status: 403}, "plain": errors.New("no"),
	} {
		for _, c := range []struct {
			failing, runs int // that fail, in so many runs
			takes         time.Duration
		}{{1, 40, time.Millisecond}, {64, 40, time.Millisecond}, {64, 3, 3 * time.Second}, {64, 40, 3 * time.Second}, {64, 2, 9 * time.Second}} {
			t.Run(fmt.Sprintf("%s, %d in %v", name, c.failing, c.takes), func(t *testing.T) {
				inBubble(t, c.failing, func(t *testing.T, b *bubble) {
					for i := range c.failing {
						b.errs[fmt.Sprintf("m-%02d", i)] = slices.Repeat([]error{refusal}, 1000)
					}
					b.takes = c.takes
					n := int64(0)
					for range c.runs {
						n++
						_ = b.run(n)
						time.Sleep(5 * time.Second)
					}
					for p := paused(t, b.outbox); !p.Until.After(time.Now().Add(time.Second)); p = paused(t, b.outbox) {
						n++
						_ = b.run(n)
						time.Sleep(time.Second)
					}
					before := paused(t, b.outbox)
					for i := range 2 {
						id := fmt.Sprintf("good-%d", i)
						b.accept(sms.Message{ID: id, To: "+12025550101", Text: "x"})
						b.takes = time.Millisecond
						n++
						_ = b.run(n)
						if r := get(t, b.outbox, id); r.State != sms.Sent {
							t.Errorf("%s is %s after one run of pause %+v", id, r.State, before)
						}
						if p := paused(t, b.outbox); p != (sms.Pause{}) {
							t.Errorf("Paused = %+v, want no pause: a message got through", p)
						}
					}
				})
			})
		}
	}
}

func paused(t *testing.T, o *sms.Outbox) sms.Pause {
	t.Helper()
	p, err := o.Paused(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The pauses of a gateway that lets nothing through double to a minute, and to five minutes if the messages
// may have been accepted.
func TestPausesGrow(t *testing.T) {
	for most, refusal := range map[time.Duration]error{
		time.Minute: &sms.GatewayError{Status: 503}, 5 * time.Minute: &sms.GatewayError{Status: 500, Unsure: true},
	} {
		inBubble(t, 1, func(t *testing.T, b *bubble) {
			b.errs["m-00"] = slices.Repeat([]error{refusal}, 1000)
			for n := range int64(9) {
				_ = b.run(n)
				want := min(most, 5*time.Second<<n)
				if got := time.Until(paused(t, b.outbox).Until); got > want || got < want-time.Millisecond {
					t.Errorf("%v: pause %d is for %v, want %v", refusal, n+1, got, want)
				}
				time.Sleep(time.Hour)
			}
		})
	}
}

// A rare refusal with a short Retry-After costs that time and no more: the pause is as long as the gateway asked, and in the
// run behind it, once a message has got through, the next refusal is repeated in the run instead of another pause.
func TestRareRefusals(t *testing.T) {
	busy := &sms.GatewayError{Status: 429, Pause: true, After: 2 * time.Second}
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.errs["m-00"] = []error{busy, busy, busy}
		_ = b.run(1)
		if got := time.Until(paused(t, b.outbox).Until); got > busy.After || got < busy.After-time.Millisecond {
			t.Errorf("paused for %v, want %v", got, busy.After)
		}
		time.Sleep(busy.After)
		acceptMany(t, b.outbox, 100, func(i int) sms.Message {
			return sms.Message{ID: fmt.Sprintf("new-%02d", i), To: "+12025550101", Text: "x"}
		})
		for i := 50; i < 100; i += 25 {
			b.errs[fmt.Sprintf("new-%02d", i)] = []error{busy}
		}
		b.wantRun(2)
		wantCounts(t, b.outbox, sms.Counts{Sent: 101, Once: 101})
	})
}

// A pause has the reason for which the gateway refused us, also if a message has to wait for another one before,
// and shows no recipient.
func TestReasonOfAPause(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.errs["m-00"] = slices.Repeat([]error{&sms.GatewayError{Status: 500, Unsure: true}}, 3)
		b.errs["m-02"] = []error{&sms.GatewayError{Status: 429, Pause: true, Err: errors.New("too many for +447700900002")}}
		_ = b.run(1, sms.Concurrency(1))
		if got := paused(t, b.outbox).Reason; !strings.Contains(got, "too many for +4477****0002") {
			t.Errorf("paused because %q, want the reason of m-02, masked", got)
		}
	})
}

// In a pause that is in doubt each run tries one message that was never refused, the latest,
// once, and skips those that it cannot read. While they fail the pause stands and is not longer, and then
// it is over.
func TestTryInAPause(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		no := slices.Repeat([]error{&sms.GatewayError{Status: 503}}, 1000)
		b.errs["m-00"] = no
		_ = b.run(1)
		before := paused(t, b.outbox)
		if before.Pauses != 1 || len(b.seen) != 3 {
			t.Fatalf("Paused = %+v after %d requests", before, len(b.seen))
		}
		for i := range 3 {
			id := fmt.Sprintf("new-%d", i)
			b.errs[id] = no
			b.accept(sms.Message{ID: id, To: "+12025550101", Text: "x"})
			time.Sleep(time.Millisecond)
		}
		b.accept(sms.Message{ID: "over", To: "+12025550101", Text: "x", Until: time.Now().Add(time.Millisecond)})
		time.Sleep(time.Millisecond)
		for _, id := range []string{"broken-0", "broken-1"} {
			b.accept(sms.Message{ID: id, To: "+12025550101", Text: "x"})
			b.client.HDel(t.Context(), keys+"status", id)
		}
		b.takes = 1500 * time.Millisecond
		for n := range int64(3) {
			if err := b.run(2 + n); err == nil {
				t.Error("a run with a refusal ended well")
			}
		}
		b.wantRequests("m-00", "m-00", "m-00", "new-2", "new-1", "new-0")
		b.wantRun(5) // all were refused
		if len(b.seen) != 6 {
			t.Errorf("%d requests, want no other in the pause", len(b.seen))
		}
		if p := paused(t, b.outbox); p != before {
			t.Errorf("Paused = %+v, was %+v", p, before)
		}
		for _, id := range []string{"new-0", "new-1", "new-2"} {
			if r := get(t, b.outbox, id); r.State != sms.Queued || r.Attempts != 0 || r.Due.Before(before.Until.Add(-time.Millisecond)) || r.Due.After(before.Until.Add(2*time.Second)) {
				t.Errorf("%s is %s after %d attempts, due %v, want it queued until the end of the pause, %v", id, r.State, r.Attempts, r.Due, before.Until)
			}
		}
		time.Sleep(6 * time.Second)
		_ = b.run(6)
		if p := paused(t, b.outbox); p.Pauses != 2 || len(b.seen) != 10 {
			t.Errorf("Paused = %+v after %d requests, want the second pause and one request for each message", p, len(b.seen))
		}
	})
}

// A message that is tried, and whose refusal is certainly about us, makes a pause in which none is tried.
func TestTryFindsAnOutage(t *testing.T) {
	for name, refusal := range map[string]error{
		"429": &sms.GatewayError{Status: 429, Pause: true}, "503 for a minute": &sms.GatewayError{Status: 503, After: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.errs["m-00"] = slices.Repeat([]error{&sms.GatewayError{Status: 500, Unsure: true}}, 1000)
				b.errs["new"] = []error{refusal}
				_ = b.run(1)
				b.accept(sms.Message{ID: "new", To: "+12025550101", Text: "x"})
				_ = b.run(2)
				if p := paused(t, b.outbox); p.Pauses != 2 || len(b.seen) != 4 {
					t.Errorf("Paused = %+v after %d requests, want the second pause after 4", p, len(b.seen))
				}
				b.accept(sms.Message{ID: "newer", To: "+12025550101", Text: "x"})
				if _, ok := errors.AsType[*sms.PausedError](b.run(3)); !ok || len(b.seen) != 4 {
					t.Errorf("%d requests, want none in the pause", len(b.seen))
				}
			})
		})
	}
}

// Messages that were refused before, and hang, have no more than half of the requests at a
// time: one that is accepted while a run waits for them leaves within a second, in that run.
func TestHangingMessagesLeaveRoom(t *testing.T) {
	inBubble(t, 64, func(t *testing.T, b *bubble) {
		o := b.outbox
		for range 4 {
			p := take(t, o, holder(1), 16)
			marks := make([]sms.Mark, len(p))
			for i := range p {
				marks[i] = p[i].Wait(0, 0, "busy")
			}
			mark(t, o, holder(1), marks...)
		}
		b.accept(sms.Message{ID: "first", To: "+12025550101", Text: "x"})
		hanging, most := atomic.Int64{}, atomic.Int64{}
		var left time.Time
		g := gatewayFunc(func(ctx context.Context, m sms.Message) error {
			switch m.ID {
			case "late":
				left = time.Now()
				return nil
			case "first":
				return nil
			}
			most.Store(max(most.Load(), hanging.Add(1)))
			defer hanging.Add(-1)
			time.Sleep(10 * time.Second)
			return errors.New("no answer")
		})
		var accepted time.Time
		go func() {
			time.Sleep(3500 * time.Millisecond)
			accepted = time.Now()
			b.accept(sms.Message{ID: "late", To: "+12025550101", Text: "x"})
		}()
		_ = sms.Deliver(t.Context(), o, g, holder(2), always, slog.New(slog.DiscardHandler), sms.Concurrency(8))
		if wait := left.Sub(accepted); left.IsZero() || wait > time.Second {
			t.Errorf("it left %v after it was accepted", wait)
		}
		if most.Load() != 4 {
			t.Errorf("%d that were refused before were at the gateway at a time, want 4 of 8", most.Load())
		}
	})
}

// Messages that never were refused keep coming: those that were get their turn.
func TestRefusedMessagesGetTheirTurn(t *testing.T) {
	inBubble(t, 40, func(t *testing.T, b *bubble) {
		o := b.outbox
		mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Wait(0, 0, "busy"))
		b.wantRun(2, sms.Batch(16), sms.Concurrency(4))
		if r := get(t, o, "m-00"); r.State != sms.Sent {
			t.Errorf("m-00 is %s after four handfuls", r.State)
		}
	})
}

// A stored pause that makes no sense is not believed.
func TestAbsurdPause(t *testing.T) {
	for _, until := range []string{"", "soon", "-1", "9223372036854775807", "1e300"} {
		t.Run(until, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				client.HSet(t.Context(), "cronce:v1:sms:{cronce}:fence", "until", until, "pauses", "99999999999999999999", "reason", "x")
				if p := take(t, o, holder(1), 1); len(p) != 1 {
					t.Errorf("took %v, want a message", ids(p))
				}
			})
		})
	}
}

// A message that was refused waits behind one that was accepted after the refusal.
func TestRefusedMessagesWaitBehind(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		o := b.outbox
		mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Wait(0, 0, "busy"))
		time.Sleep(time.Second)
		accept(t, o, sms.Message{ID: "new", To: "+12025550101", Text: "x"}, true)
		if p := take(t, o, holder(1), 1); !slices.Equal(ids(p), []string{"new"}) {
			t.Errorf("took %v first, want new", ids(p))
		}
	})
}

// The gateway is paused, and its pauses end, for the run that has taken messages last: a run with another fence, or another run with the same
// fence, as after a failover that lost fences, changes no pause.
func TestOnlyTheLatestRunPauses(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		latest := sms.Holder{Run: "run-b", Fence: 7}
		if _, err := o.Take(t.Context(), latest, 1); err != nil {
			t.Fatal(err)
		}
		pauses := func() int {
			p, err := o.Paused(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return p.Pauses
		}
		others := []sms.Holder{{Run: "run-a", Fence: 7}, {Run: "run-b", Fence: 6}, {Run: "run-b", Fence: 8}}
		for _, n := range []int{3, 0} {
			before := pauses()
			for _, other := range others {
				if err := sms.PauseGateway(o, t.Context(), other, time.Minute, n, "busy", false); !errors.Is(err, sms.ErrFenced) || pauses() != before {
					t.Errorf("%+v made it %d pauses: %v, there are %d, want %d and ErrFenced", other, n, err, pauses(), before)
				}
			}
			if err := sms.PauseGateway(o, t.Context(), latest, time.Minute, n, "busy", false); err != nil || pauses() != n {
				t.Errorf("the latest run made it %d pauses: %v, there are %d", n, err, pauses())
			}
		}
	})
}
