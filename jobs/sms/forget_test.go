package sms_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

const prefix = "cronce:v1:sms:{cronce}:"

// All messages of a person are deleted, in every state, and no others; messages that a run has are busy.
func TestForget(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		const ada = "+12025550199"
		states := []string{"sent", "failed", "expired", "retry", "taken"}
		for _, id := range states {
			accept(t, o, sms.Message{ID: id, To: ada, Text: "x", Person: "ada"}, true)
		}
		pieces := map[string]sms.Piece{}
		for _, p := range take(t, o, holder(1), 5) {
			pieces[p.Message.ID] = p
		}
		mark(t, o, holder(1), pieces["sent"].Sent(2), pieces["failed"].Failed(0, "no"), pieces["expired"].Expired(0), pieces["retry"].Retry(0, 0, "busy"))
		if err := o.Receive(t.Context(), sms.Receipt{ID: "sent", Delivered: true}); err != nil {
			t.Fatal(err)
		}
		accept(t, o, sms.Message{ID: "queued", To: ada, Text: "x"}, true)
		client.HSet(t.Context(), prefix+"body", "broken", `{"to":"`+ada)
		client.ZAdd(t.Context(), prefix+"broken", redis.Z{Score: 1, Member: "broken"})
		accept(t, o, sms.Message{ID: "about", To: "+12025550100", Text: "Call " + ada}, true)
		accept(t, o, sms.Message{ID: "longer", To: ada + "1", Text: "x"}, true)
		accept(t, o, sms.Message{ID: "moved", To: "+12025550111", Text: "x", Person: "ada"}, true)

		if f, err := o.Forget(t.Context(), ada); err != nil || f != (sms.Forgotten{Deleted: 6, Busy: 1}) {
			t.Errorf("Forget = %+v, %v, want 6 deleted and 1 busy", f, err)
		}
		if c, err := o.Counts(t.Context()); err != nil || c != (sms.Counts{Queued: 3, Due: 3, Taken: 1}) {
			t.Errorf("left are %+v, %v", c, err)
		}
		mark(t, o, holder(1), pieces["taken"].Sent(0))
		if f, err := o.Forget(t.Context(), "ada"); err != nil || f != (sms.Forgotten{Deleted: 2}) {
			t.Errorf("Forget = %+v, %v, want 2 deleted", f, err)
		}
		for _, key := range client.Keys(t.Context(), prefix+"*").Val() {
			if strings.HasSuffix(key, ":body") || strings.HasSuffix(key, ":status") || strings.HasSuffix(key, ":fence") {
				continue
			}
			if left := client.ZRange(t.Context(), key, 0, -1).Val(); len(left) > 0 && !slices.Equal(left, []string{"about", "longer"}) {
				t.Errorf("%s has %v", key, left)
			}
		}
		if left := client.HKeys(t.Context(), prefix+"status").Val(); len(left) != 2 {
			t.Errorf("the states have %v", left)
		}
		if _, err := o.Forget(t.Context(), "a b"); err == nil || strings.Contains(err.Error(), "a b") {
			t.Errorf("Forget of no person = %v", err)
		}
	})
}

// Between the two steps of Forget the id is used for another person: that message stays.
func TestForgetAnIDOfAnother(t *testing.T) {
	client := newMini(t)
	o := outbox(t, client)
	accept(t, o, sms.Message{ID: "a", To: "+12025550199", Text: "x"}, true)
	hooked := connect(t, client.Options())
	hooked.AddHook(&hook{after: func() {
		client.HDel(t.Context(), prefix+"body", "a")
		accept(t, o, sms.Message{ID: "a", To: "+12025550100", Text: "x"}, true)
	}})
	if f, err := outbox(t, hooked).Forget(t.Context(), "+12025550199"); err != nil || f != (sms.Forgotten{}) {
		t.Errorf("Forget = %+v, %v, want none", f, err)
	}
	wantCounts(t, o, sms.Counts{Queued: 1, Due: 1})
	if r := get(t, o, "a"); r.Message.To != "+12025550100" {
		t.Errorf("it is for %s", r.Message.To)
	}
}

// Forget finds messages that are spread over a store that it reads in many steps.
func TestForgetMany(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		acceptMany(t, o, 5000, func(i int) sms.Message {
			return sms.Message{ID: fmt.Sprintf("m-%d", i), To: fmt.Sprintf("+1202555%04d", i%10), Text: "x"}
		})
		if f, err := o.Forget(t.Context(), "+12025550007"); err != nil || f.Deleted != 500 {
			t.Errorf("Forget = %+v, %v, want 500 deleted", f, err)
		}
		wantCounts(t, o, sms.Counts{Queued: 4500, Due: 4500})
	})
}

// acceptMany puts n messages into an outbox, several at a time.
func acceptMany(t *testing.T, o *sms.Outbox, n int, message func(i int) sms.Message) {
	t.Helper()
	const callers = 8
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n; i += callers {
				if fresh, err := o.Accept(t.Context(), message(i)); err != nil || !fresh {
					t.Errorf("Accept of message %d = %v, %v", i, fresh, err)
					return
				}
			}
		})
	}
	group.Wait()
}
