package events

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A webhook that limits the rate accepts the event that failed before, however late its request
// arrives: otherwise the events behind it would take its place until it is skipped.
func TestLimitedRateAcceptsTheProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWebhook(Options{URL: "http://localhost", Secrets: func() []string { return []string{strings.Repeat("s", minSecret)} }}.filled())
		place := make(chan struct{}, 1)
		place <- struct{}{}
		w.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Idempotency-Key") == "0" {
				time.Sleep(time.Second)
			}
			select {
			case <-place:
				return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
			default:
				return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}, nil
			}
		})
		all := make([]stock.Event, probed)
		for i := range all {
			all[i].ID, all[i].Order, all[i].Seq = strconv.Itoa(i), "o-"+strconv.Itoa(i), int64(i+1)
		}
		outcomes := w.post(t.Context(), all, true)
		at := stock.EventCursor{Failures: maxPassed, Passed: maxPassed - 1}
		next, failed := after(at, all, outcomes)
		if next.Seq != 1 || next.Skipped != 0 || failed == nil {
			t.Errorf("the cursor is %+v (%v), want event 1 accepted and none skipped", next, failed)
		}
	})
}

// Whatever became of the run, the first event of a pass is posted. Events that were not posted have not failed. A secret
// that became unusable signs nothing.
func TestEndedPass(t *testing.T) {
	t.Parallel()
	ended, stop := context.WithCancel(t.Context())
	stop()
	all := []stock.Event{{ID: "1", Order: "a", Seq: 1}, {ID: "2", Order: "b", Seq: 2}}
	for secret, want := range map[string]stock.EventCursor{strings.Repeat("s", minSecret): {Seq: 1}, "": {Failures: 1}} {
		posts := int64(0)
		w := newWebhook(Options{URL: "http://localhost", Secrets: func() []string { return []string{secret} }}.filled())
		w.client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			posts++
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
		})
		next, failed := after(stock.EventCursor{}, all, w.post(ended, all, false))
		next.Wait = 0 // it is random
		if next != want || posts != want.Seq || (failed != nil) != (want.Failures > 0) {
			t.Errorf("secret %q: after %d posts the cursor is %+v (%v), want %+v", secret, posts, next, failed, want)
		}
	}
}

// An event that is not accepted is posted again soon, unless the webhook asks for time.
func TestPostAgain(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]int{"": 3, "60": 1} {
		synctest.Test(t, func(t *testing.T) {
			posts := 0
			w := newWebhook(Options{URL: "http://localhost", Secrets: func() []string { return []string{strings.Repeat("s", minSecret)} }}.filled())
			w.client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
				posts++
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{"Retry-After": {after}}}, nil
			})
			if o := w.postAgain(t.Context(), new(stock.Event), false); o.accepted || posts != want {
				t.Errorf("Retry-After %q: accepted %v after %d posts, want %d", after, o.accepted, posts, want)
			}
		})
	}
}
