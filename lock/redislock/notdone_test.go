package redislock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A claim that the server refuses, or that never reaches it, is certainly not granted, and the
// error says so.
func TestClaimsNotDone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hinder func(t *testing.T, s *redisserver.Server, admin redis.UniversalClient) // of the user "node"
		answer string
	}{
		"no script":    {rules("-evalsha", "-eval"), "NOPERM"},
		"no writes":    {rules("-@write"), ""},
		"no state":     {rules("-hset"), ""},
		"no journal":   {rules("-rpush", "-lset"), ""},
		"no proof":     {rules("-pexpire", "-rpush"), ""},
		"no keys":      {rules("resetkeys", "~other:*"), "NOPERM"},
		"no such user": {rules("off"), "WRONGPASS"},
		"replica": {func(t *testing.T, _ *redisserver.Server, c redis.UniversalClient) {
			must(t, c.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		}, "READONLY"},
		"full":              {config("maxmemory", "1"), "OOM"},
		"too few replicas":  {config("min-replicas-to-write", "1"), "NOREPLICAS"},
		"state of a string": {set("ns:v1:{ns.0}:s:job"), "WRONGTYPE"},
		"journal":           {set("ns:v1:{ns.0}:j:job"), "WRONGTYPE"},
		"gone":              {func(t *testing.T, s *redisserver.Server, _ redis.UniversalClient) { s.Stop() }, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.Start(t)
			admin := client(t, s.Addr())
			due := open(t, newDriver(t, admin, redislock.Options{Namespace: "ns"}), admin, "job")
			must(t, admin.ACLSetUser(t.Context(), "node", "on", ">pw", "~*", "&*", "+@all").Err())
			test.hinder(t, s, admin)
			d := newDriver(t, client(t, s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = "node", "pw" }), redislock.Options{Namespace: "ns"})
			a := d.Claim(t.Context(), []series.Claim{claimOf("job", "a/1", due)})[0]
			if a.Kind != series.KindUnknown || !errors.Is(a.Err, driver.ErrNotDone) || !strings.Contains(a.Err.Error(), test.answer) {
				t.Fatalf("the answer is %v, %v, want an error that is ErrNotDone and has %q", a.Kind, a.Err, test.answer)
			}
			if name == "gone" {
				return
			}
			must(t, admin.ReplicaOf(t.Context(), "no", "one").Err())
			must(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
			if runs, err := admin.HGet(t.Context(), "ns:v1:{ns.0}:s:job", "r").Result(); err == nil && runs != "" {
				t.Errorf("the series has the runs %q", runs)
			}
		})
	}
}

// A count of the journal's bytes that fails takes no answer away.
func TestGrantWithoutACount(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	admin := client(t, s.Addr())
	must(t, admin.ACLSetUser(t.Context(), "node", "on", ">pw", "~*", "&*", "+@all", "-incrby", "-set").Err())
	d := newDriver(t, client(t, s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = "node", "pw" }), redislock.Options{Namespace: "ns"})
	due := open(t, newDriver(t, admin, redislock.Options{Namespace: "ns"}), admin, "job")
	claim(t, d, claimOf("job", "a/1", due), series.KindGranted)
}

func rules(more ...string) func(*testing.T, *redisserver.Server, redis.UniversalClient) {
	return func(t *testing.T, _ *redisserver.Server, c redis.UniversalClient) {
		t.Helper()
		must(t, c.ACLSetUser(t.Context(), "node", more...).Err())
	}
}

func config(key, value string) func(*testing.T, *redisserver.Server, redis.UniversalClient) {
	return func(t *testing.T, _ *redisserver.Server, c redis.UniversalClient) {
		t.Helper()
		must(t, c.ConfigSet(t.Context(), key, value).Err())
	}
}

func set(key string) func(*testing.T, *redisserver.Server, redis.UniversalClient) {
	return func(t *testing.T, _ *redisserver.Server, c redis.UniversalClient) {
		t.Helper()
		must(t, c.Set(t.Context(), key, "oops", 0).Err())
	}
}
