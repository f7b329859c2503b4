package sms_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

const keys = "cronce:v1:sms:{cronce}:"

// Messages are damaged in each way. They are put aside and listed, and the message
// behind them is given to the run at once. One that has lost its body can be accepted again.
func TestBrokenMessagesBlockNone(t *testing.T) {
	const status = "queued 0 0 0 0 1795207852937 1795207852937 - "
	for name, damage := range map[string]func(c *redis.Client, id string){
		"no status": func(c *redis.Client, id string) { c.HDel(t.Context(), keys+"status", id) },
		"no body":   func(c *redis.Client, id string) { c.HDel(t.Context(), keys+"body", id) },
		"neither": func(c *redis.Client, id string) {
			c.HDel(t.Context(), keys+"body", id)
			c.HDel(t.Context(), keys+"status", id)
		},
		"body no JSON":     func(c *redis.Client, id string) { c.HSet(t.Context(), keys+"body", id, `{"to":"+12025550199`) },
		"body of another":  func(c *redis.Client, id string) { c.HSet(t.Context(), keys+"body", id, `{"to":5}`) },
		"no recipient":     func(c *redis.Client, id string) { c.HSet(t.Context(), keys+"body", id, `{"text":"x"}`) },
		"status of a word": func(c *redis.Client, id string) { c.HSet(t.Context(), keys+"status", id, "queued") },
		"status of a state": func(c *redis.Client, id string) {
			c.HSet(t.Context(), keys+"status", id, "gone"+strings.TrimPrefix(status, "queued"))
		},
		"status sent": func(c *redis.Client, id string) {
			c.HSet(t.Context(), keys+"status", id, "sent"+strings.TrimPrefix(status, "queued"))
		},
		"status of letters": func(c *redis.Client, id string) {
			c.HSet(t.Context(), keys+"status", id, strings.Replace(status, "0", "x", 1))
		},
		"an absurd fence": func(c *redis.Client, id string) {
			c.HSet(t.Context(), keys+"status", id, strings.Replace(status, "0 0 0 0", "0 0 0 99999999999999999999", 1))
		},
		"an absurd due time": func(c *redis.Client, id string) {
			c.HSet(t.Context(), keys+"status", id, strings.Replace(status, "1795207852937 -", "9007199254740992 -", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 11)
				for _, id := range []string{"m-00", "m-01", "m-02", "m-03", "m-04", "m-05", "m-06", "m-07", "m-08", "m-09"} {
					damage(client, id)
				}
				if p := take(t, o, holder(1), 3); !slices.Equal(ids(p), []string{"m-10"}) {
					t.Errorf("took %v, want m-10", ids(p))
				}
				wantCounts(t, o, sms.Counts{Taken: 1, Broken: 10})
				broken, err := o.List(t.Context(), sms.Broken, 100)
				if err != nil || len(broken) != 10 {
					t.Fatalf("List = %v, %v, want ten", broken, err)
				}
				for _, r := range broken {
					if r.State != sms.Broken || r.Reason == "" || strings.Contains(r.Reason, "2025550199") {
						t.Errorf("%s: %q, want a reason without a recipient", r.Message.ID, r.Reason)
					}
				}
				if client.HExists(t.Context(), keys+"body", "m-00").Val() {
					return
				}
				accept(t, o, sms.Message{ID: "m-00", To: "+12025550101", Text: "x"}, true)
				wantCounts(t, o, sms.Counts{Queued: 1, Due: 1, Taken: 1, Broken: 9})
			})
		})
	}
}

// One that is damaged while a run has it stops neither the list nor the next run.
func TestBrokenWhileTaken(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 3)
		take(t, o, holder(1), 2)
		client.HSet(t.Context(), keys+"status", "m-00", "???")
		client.ZAdd(t.Context(), keys+"taken", redis.Z{Score: 9e18, Member: "m-01"})
		all, err := o.List(t.Context(), "", 10)
		if err != nil || len(all) != 3 || !slices.ContainsFunc(all, func(r sms.Record) bool { return r.Message.ID == "m-00" && r.State == sms.Broken }) {
			t.Errorf("List = %v, %v, want three, of them one broken", all, err)
		}
		if p := take(t, o, holder(2), 3); !slices.Equal(ids(p), []string{"m-01", "m-02"}) {
			t.Errorf("took %v, want the other two", ids(p))
		}
	})
}

// The highest stored fence is invalid, or far ahead of the clock and of every run: the outbox ignores
// it. A valid fence excludes older runs as before.
func TestAbsurdHighestFence(t *testing.T) {
	for _, fence := range []string{"", "x", "-5", "9007199254740993", "99999999999999999999999", "1e400", "nan"} {
		t.Run(fence, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 2)
				client.HSet(t.Context(), keys+"fence", "fence", fence, "run", "r", "call", "c", "given", "m-00")
				p := take(t, o, holder(2), 1)
				if len(p) != 1 {
					t.Fatalf("took %v, want one", ids(p))
				}
				mark(t, o, holder(2), p[0].Sent(0))
				if _, err := o.Take(t.Context(), holder(1), 1); err == nil {
					t.Error("an older run may take")
				}
			})
		})
	}
}
