package sms_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

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
					_ = sms.Deliver(t.Context(), b.outbox, down, holder(n), always, zap.NewNop(), sms.Attempts(3), sms.Concurrency(1))
					time.Sleep(5 * time.Second)
				}
				if requests > 20*70 {
					t.Errorf("%d requests in an hour, want one for each message and pause", requests)
				}
				if r := get(t, b.outbox, "m-00"); r.Attempts != 0 || r.State != sms.Queued {
					t.Errorf("m-00 is %s after %d attempts, want it queued after none", r.State, r.Attempts)
				}
				for range 190 { // the longest wait is that of a message that may have been accepted
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
	}{
		{401, "", 3, 5 * time.Second}, {402, "", 3, 5 * time.Second}, {405, "", 3, 5 * time.Second}, {407, "", 3, 5 * time.Second},
		{429, "", 3, 5 * time.Second}, {429, "120", 3, 2 * time.Minute}, {429, "86400", 3, time.Hour},
		{403, "", 9, 5 * time.Second}, {408, "", 9, 5 * time.Second}, {302, "", 9, 5 * time.Second},
		{500, "", 9, 5 * time.Second}, {502, "", 9, 5 * time.Second}, {503, "", 9, 5 * time.Second}, {504, "", 9, 5 * time.Second},
		{503, "40", 3, 40 * time.Second},
		{0, "", 0, 5 * time.Second},
		{404, "", 3, 5 * time.Second}, {410, "", 3, 5 * time.Second},
		{400, "", 3, 0}, {422, "", 3, 0},
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
			err := sms.Deliver(t.Context(), o, g, holder(1), always, zap.NewNop(), sms.Attempts(1))
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
			if took := p.Until.Sub(before); err != nil || p.Pauses != 1 || took < c.pause-time.Millisecond || took > c.pause+3*time.Second {
				t.Errorf("Paused = %+v, %v: for %v, want %v", p, err, took, c.pause)
			}
			if strings.Contains(p.Reason, "s3cret") || strings.Contains(p.Reason, "44770090") {
				t.Errorf("shows a secret or a recipient: %s", p.Reason)
			}
			if r := get(t, o, "m-00"); r.State != sms.Queued || r.Attempts != 0 {
				t.Errorf("m-00 is %s after %d attempts, want it queued after none", r.State, r.Attempts)
			}
			accept(t, o, sms.Message{ID: "new", To: "+12025550101", Text: "x"}, true)
			asked := requests.Load()
			err = sms.Deliver(t.Context(), o, g, holder(2), always, zap.NewNop(), sms.Attempts(1))
			if _, ok := errors.AsType[*sms.PausedError](err); !ok || requests.Load() != asked {
				t.Errorf("the next run = %v after %d requests, want it paused", err, requests.Load()-asked)
			}
		})
	}
}

// Sixty-four messages fail, whatever the way, before a good one is accepted or together
// with it: the good one leaves in the next run.
func TestFailingMessagesDelayNoGoodOne(t *testing.T) {
	for name, refusal := range map[string]error{
		"503": &sms.GatewayError{Status: 503}, "500": &sms.GatewayError{Status: 500, Unsure: true}, "403": &sms.GatewayError{Status: 403}, "plain": errors.New("no"),
	} {
		for _, earlier := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, failed before %v", name, earlier), func(t *testing.T) {
				inBubble(t, 64, func(t *testing.T, b *bubble) {
					for i := range 64 {
						b.errs[fmt.Sprintf("m-%02d", i)] = slices.Repeat([]error{refusal}, 1000)
					}
					n := int64(0)
					if earlier {
						for range 20 {
							n++
							_ = b.run(n)
							time.Sleep(5 * time.Second)
						}
						for { // the gateway may be paused: after that is the next run that asks it
							p, err := b.outbox.Paused(t.Context())
							if err != nil {
								t.Fatal(err)
							}
							if !p.Until.After(time.Now()) {
								break
							}
							time.Sleep(time.Second)
						}
					}
					time.Sleep(time.Millisecond)
					accept(t, b.outbox, sms.Message{ID: "good", To: "+12025550101", Text: "x"}, true)
					_ = b.run(n + 1)
					if r := get(t, b.outbox, "good"); r.State != sms.Sent {
						t.Errorf("the good message is %s after one run", r.State)
					}
					if p, err := b.outbox.Paused(t.Context()); err != nil || p != (sms.Pause{}) {
						t.Errorf("Paused = %+v, %v, want no pause: a message got through", p, err)
					}
					accept(t, b.outbox, sms.Message{ID: "good-2", To: "+12025550101", Text: "x"}, true)
					_ = b.run(n + 2)
					if r := get(t, b.outbox, "good-2"); r.State != sms.Sent {
						t.Errorf("the second good message is %s after one run", r.State)
					}
				})
			})
		}
	}
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

// What is stored of a pause is not believed if it makes no sense.
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
