package memlock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/memlock"
)

// The store in memory keeps the contract, in a bubble: time passes by sleeping,
// and the clock is moved by an offset.
func TestContract(t *testing.T) {
	var store *memlock.Store
	var offset atomic.Int64
	locktest.Run(t, locktest.Env{
		Open: func(*testing.T) driver.Driver {
			offset.Store(0)
			store = memlock.New(memlock.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
			return store
		},
		Abandon:  func(a driver.Acquisition) error { return store.Abandon(a) },
		In:       synctest.Test,
		Wait:     time.Sleep,
		SetClock: func(now time.Time) { offset.Store(int64(time.Until(now))) },
		Forget:   func() { store.Forget() },
	})
}
