package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/absent"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// openTime bounds the check of a store, which may need several requests.
const openTime = 10 * time.Second

// Open returns a Locker on a store that is fit for use; see [New] for node. If the store is a
// [driver.StoreChecker], Open checks it once, until ctx ends or for 10 seconds; otherwise Open
// sends no request. The risks do not keep the store from use: log them. An error that is [ErrUnfit]
// refuses the store, and names the change that it needs; an *ArgumentError refuses a nil store, or node; any other
// error is doubt, in which case Open may be called again. Open starts no goroutine.
func Open(ctx context.Context, d driver.Driver, node string) (*Locker, []driver.Risk, error) {
	if absent.Is(d) {
		return nil, nil, driver.Refuse("store", "nil", "a store")
	}
	if err := driver.CheckNode(node); err != nil {
		return nil, nil, err
	}
	store, knows := d.(driver.StoreChecker)
	if !knows {
		return New(d, node), nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, openTime)
	defer stop()
	risks, err := store.CheckStore(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("lock: open: %w", err)
	}
	return New(d, node), risks, nil
}

// New returns a Locker on a store, without a request. Unlike [Open] it does not check whether the
// store, its settings and the client can keep the promises of this package. It is for tests, and
// for programs that have checked the store themselves. Node names this process in the store, for
// readers of a key's holder; empty means a random name. Lockers with the same name exclude each
// other all the same: every Locker adds random bits of its own.
// New panics if the store is nil.
func New(d driver.Driver, node string) *Locker {
	if absent.Is(d) {
		panic("lock: New: the store is nil, must be a store")
	}
	l := &Locker{driver: d, owners: renew.OwnersOf(node)}
	l.storeEvents.start = time.Now()
	_, l.shares = d.(driver.Sharer)
	if p, ok := d.(driver.Prompt); ok {
		l.inline.allowed = p.Prompt()
	}
	l.several, _ = d.(driver.MultiRenewer)
	l.distributed, _ = d.(driver.Distributed)
	l.keeper = renew.New(l.keeping())
	return l
}
