package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A user with the rights of ReadRules reads all that nodes and operators have written, even if keys
// are about to expire, and writes nothing.
func TestReadRules(t *testing.T) {
	s := redisserver.Start(t)
	admin := client(t, s.Addr())
	if err := admin.ACLSetUser(t.Context(), "selector", "(+get)").Err(); err != nil {
		t.Skip("the server has no selectors: ", err) // Redis 6.2
	}
	must(t, admin.ACLSetUser(t.Context(), "reader", append([]string{"on", ">secret"}, redislock.ReadRules("cronce")...)...).Err())
	d := newDriver(t, admin, redislock.Options{})
	open(t, d, admin, "job}:none")
	now := time.Now().UnixMilli()
	must(t, d.KeepOutput(t.Context(), series.Output{Key: "job}:none", Number: now, Fence: 1, Text: "text"}))
	_, err := d.Beat(t.Context(), series.Beat{Node: "node", TTL: time.Minute})
	must(t, err)
	if a := series.FrontOf(d).Control(t.Context(), series.Control{Key: "job}:none", Op: "op", Who: "bob", Action: series.ActionPause, Reason: "gateway"}); a.Err != nil {
		t.Fatal(a.Err)
	}
	_, err = d.Acquire(t.Context(), driver.Acquisition{Key: "limit/reports", Owner: "node/1", TTL: time.Minute, Limit: 2})
	must(t, err)
	keys, err := admin.Keys(t.Context(), "*:none").Result()
	must(t, err)
	for _, key := range keys {
		must(t, admin.PExpire(t.Context(), key, time.Hour).Err())
	}

	c := client(t, s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = "reader", "secret" })
	r := newDriver(t, c, redislock.Options{})
	if keys, err := r.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("the series are %q, %v", keys, err)
	}
	if s := r.ReadSeries(t.Context(), []string{"job}:none"})[0]; s.Err != nil || s.Mark == 0 {
		t.Errorf("the series is %+v", s)
	}
	if j, err := r.Journal(t.Context(), "job}:none", 0); err != nil || len(j.Lines) != 2 || len(j.Revisions) != 1 {
		t.Errorf("the journal is %+v, %v", j, err)
	}
	if o, err := r.Output(t.Context(), "job}:none", now); err != nil || o.Text != "text" {
		t.Errorf("the output is %+v, %v", o, err)
	}
	if m, err := r.Members(t.Context()); err != nil || len(m.Members) != 1 {
		t.Errorf("the nodes are %+v, %v", m, err)
	}
	if keys, _, _, err := r.ChangedSince(t.Context(), nil); err != nil || len(keys) != 1 {
		t.Errorf("the changes are %q, %v", keys, err)
	}
	if all, err := r.Holders(t.Context(), "limit/reports"); err != nil || len(all) != 1 {
		t.Errorf("the holders of a limit are %+v, %v", all, err)
	}
	if a, err := r.Audit(t.Context(), "", 0); err != nil || len(a) != 1 {
		t.Errorf("the audit is %+v, %v", a, err)
	}
	if n := len(keys); n == 0 {
		t.Error("no keys")
	}
	for _, key := range keys {
		for _, command := range []string{"DEL", "PEXPIRE", "HSET", "RPUSH", "SET"} {
			if err := c.Do(t.Context(), command, key, "1", "1").Err(); err == nil || !denied.MatchString(err.Error()) {
				t.Errorf("%s %s: the error is %v, want a refusal", command, key, err)
			}
		}
	}
	if err := c.Eval(t.Context(), "return redis.call('DEL', KEYS[1])", keys[:1]).Err(); !redislock.Denied(err) {
		t.Errorf("a script deletes: %v", err)
	}
}
