package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// One server under two addresses, a replica, and a server that is down are reported by name; three
// masters are accepted.
func TestCheck(t *testing.T) {
	t.Parallel()
	all, cs := servers(t, 3)
	check := func(cs []redis.UniversalClient, want string) {
		t.Helper()
		err := newDriver(t, cs, redlock.Options{}).Check(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	fit := func(cs []redis.UniversalClient, risks int, unfit, doubt bool) {
		t.Helper()
		all, err := newDriver(t, cs, redlock.Options{}).CheckStore(t.Context())
		if len(all) != risks || errors.Is(err, driver.ErrUnfit) != unfit || (err != nil) != (unfit || doubt) {
			t.Errorf("fit: %d risks, %v", len(all), err)
		}
	}
	check(cs, "")
	fit(cs, 0, false, false)
	alias := client(t, fmt.Sprintf("localhost:%d", all[0].Port()))
	check([]redis.UniversalClient{cs[0], cs[1], alias}, "are one server")
	fit([]redis.UniversalClient{cs[0], cs[1], alias}, 0, true, false)
	copied := redisserver.Start(t)
	replica := client(t, copied.Addr())
	must(t, replica.SlaveOf(t.Context(), "127.0.0.1", fmt.Sprint(all[0].Port())).Err())
	check([]redis.UniversalClient{cs[0], cs[1], replica}, copied.Addr()+" is a replica")
	fit([]redis.UniversalClient{cs[0], cs[1], replica}, 0, true, false)
	all[2].Stop()
	check(cs, all[2].Addr())
	fit(cs, 1, false, false)
	all[1].Stop()
	fit(cs, 0, false, true)
}

// A user without the right to use INFO can still use the locks.
func TestCheckNotAllowed(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	for i, c := range cs {
		must(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "resetkeys", "~cronce:v1:*", "nocommands",
			"+eval", "+evalsha", "+time", "+get", "+mget", "+pttl", "+set", "+pexpire", "+rename", "+del", "+hello").Err())
		cs[i] = client(t, c.(*redis.Client).Options().Addr)
	}
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	must(t, d.Check(t.Context()))
	_, h := acquire(t, d, asking("key", slow))
	_, err := d.Renew(t.Context(), h)
	must(t, err)
	must(t, d.Release(t.Context(), h))
}

// Servers at maxmemory grant nothing, but renew and release existing leases.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", slow))
	_, forgotten := acquire(t, d, asking("forgotten", slow))
	for _, c := range cs[:2] {
		must(t, c.Del(t.Context(), redlock.Key(redlock.DefaultNamespace, "forgotten")).Err())
	}
	for _, c := range cs {
		must(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	}
	_, err := d.Acquire(t.Context(), asking("other", slow))
	inDoubt(t, err)
	if _, err := d.Renew(t.Context(), h); err != nil {
		t.Errorf("renew: %v", err)
	}
	must(t, d.Release(t.Context(), h))
	if err := d.Release(t.Context(), forgotten); !errors.Is(err, driver.ErrForgotten) {
		t.Errorf("the release of a lease that two servers forgot says %v", err)
	}
}

// The state of replicas is no answer: neither that a key is held, nor that it is lost, nor that it
// is free.
func TestReplicasAreDoubt(t *testing.T) {
	t.Parallel()
	masters, cs := servers(t, 3)
	_, rs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	for i, r := range rs {
		must(t, r.SlaveOf(t.Context(), "127.0.0.1", fmt.Sprint(masters[i].Port())).Err())
		until(t, "the replica has the key", func() bool { return r.DBSize(t.Context()).Val() == 1 })
	}
	replicas := newDriver(t, rs, redlock.Options{NodeTimeout: slow})
	_, err := replicas.Acquire(t.Context(), asking("key", time.Minute))
	inDoubt(t, err)
	h.Fence++
	_, err = replicas.Renew(t.Context(), h)
	inDoubt(t, err)
	inDoubt(t, replicas.Release(t.Context(), h))
}
