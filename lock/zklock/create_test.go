package zklock_test

import (
	"testing"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/zklock"
)

// The first use of a key creates its container and a place; the next use creates only a place.
func TestFirstUseOfAKey(t *testing.T) {
	t.Parallel()
	p := newProxy(t, zkserver.Shared(t))
	d := newDriver(t, p.addr(), zklock.Options{})
	l := lock.New(d, "a")
	for _, use := range []struct {
		key  string
		want int32
	}{{"namespace", 6}, {"k", 2}, {"k", 1}} {
		before := p.creates()
		lease, err := l.TryAcquire(t.Context(), use.key, lock.Options{})
		must(t, err)
		must(t, lease.Release(t.Context()))
		if n := p.creates() - before; n != use.want {
			t.Errorf("a use of %q creates %d nodes, want %d", use.key, n, use.want)
		}
	}
}
