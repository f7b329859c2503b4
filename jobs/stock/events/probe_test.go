package events

import (
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
