package sms_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// A caller finds where its messages are, and its own place beside them, which moves only from where it was read.
func TestStatesAndPlace(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 4)
		p := take(t, o, holder(1), 3)
		mark(t, o, holder(1), p[0].Sent(0), p[1].Failed(0, "no"))
		wantPlace := func(place string) {
			t.Helper()
			got, states, err := o.ReadStates(t.Context(), "shop/sms", "m-00", "m-01", "m-02", "m-03", "none")
			if want := []sms.State{sms.Sent, sms.Failed, sms.Taken, sms.Queued, ""}; err != nil || got != place || !slices.Equal(states, want) {
				t.Errorf("ReadStates = %q, %q, %v, want %q and %q", got, states, err, place, want)
			}
		}
		wantPlace("")
		for _, c := range []struct {
			from, to string
			ok       bool
		}{{"x", "1 a", false}, {"", "1 a", true}, {"", "1 a", true}, {"", "2 b", false}, {"1 a", "2 a", true}} {
			if ok, err := o.SetPlace(t.Context(), "shop/sms", c.from, c.to); err != nil || ok != c.ok {
				t.Errorf("SetPlace from %q to %q = %v, %v", c.from, c.to, ok, err)
			}
		}
		wantPlace("2 a")
		if place, states, err := o.ReadStates(t.Context(), "another"); place != "" || len(states) > 0 || err != nil {
			t.Errorf("ReadStates of another list = %q, %q, %v", place, states, err)
		}
		if _, _, err := o.ReadStates(t.Context(), "shop/sms", make([]string, 501)...); fmt.Sprint(err) != `sms: read states: ids is 501, must be up to 500` {
			t.Errorf("501 ids: %v", err)
		}
	})
}
