package zklock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A lease is trusted for half of the timeout that the server gave the session, however long the
// requested timeout was, and never for longer than its TTL. An owner that repeats its request gets
// the same lease with the time that it has left.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, "maxSessionTimeout=60000")
	d := newDriver(t, s.Addr(), zklock.Options{Session: 100 * time.Second})
	if trust := d.Trust(); trust != 50*time.Second {
		t.Errorf("before a server has given a session, it is trusted for %v, half of what is asked for is 50s", trust)
	}
	for ttl, want := range map[time.Duration]time.Duration{
		time.Hour:                    30 * time.Second,
		30*time.Second + 1e6:         30 * time.Second,
		30 * time.Second:             30 * time.Second,
		30*time.Second - 1e6:         30*time.Second - 1e6,
		29*time.Second + 999e6 + 5e5: 29*time.Second + 999e6 + 5e5,
		20 * time.Second:             20 * time.Second,
	} {
		a := driver.Acquisition{Key: ttl.String(), Owner: "a/1", TTL: ttl}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		again, err := d.Acquire(t.Context(), a)
		must(t, err)
		renewed, err := d.Renew(t.Context(), holding(a, g))
		must(t, err)
		if g.Left != want || renewed.Left != want {
			t.Errorf("a lease of %v is trusted for %v, and for %v once it is renewed, want %v", ttl, g.Left, renewed.Left, want)
		}
		left := min(g.Asked.Add(ttl).Sub(again.Asked), 30*time.Second)
		if again.Fence != g.Fence || again.Left != left {
			t.Errorf("asked again, a lease of %v is trusted for %v, want %v", ttl, again.Left, left)
		}
		must(t, d.Release(t.Context(), holding(a, g)))
	}
}

// Leases that are renewed together last for a TTL each, also if one of them is lost.
func TestTTLsOfLeasesRenewedTogether(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Session: time.Minute})
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	lost := driver.LeaseRef{Key: "lost", Owner: "a/2", Fence: 1, TTL: time.Second}
	r := d.RenewAll(t.Context(), []driver.LeaseRef{lost, holding(a, g)})[1]
	must(t, r.Err)
	if until := d.Until(a.Key, a.Owner); !until.Equal(r.Grant.Asked.Add(a.TTL)) {
		t.Errorf("the place is kept for %v after the renewal, want %v", until.Sub(r.Grant.Asked), a.TTL)
	}
}
