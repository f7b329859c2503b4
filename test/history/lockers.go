package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// Lockers is a group of processes, each with its own Locker. Their goroutines compete for the same keys
// in every way that package lock offers: they try once, they wait for a bounded time, they acquire a key
// alone, under a limit or as readers, and they acquire several keys together. Only Locker is required.
type Lockers struct {
	Locker    func(process int) *lock.Locker
	Processes int           // zero: 3
	Each      int           // goroutines per process; zero: 3
	TTL       time.Duration // zero: driver.MinTTL
	Seed      uint64        // of the random choices of the goroutines
}

// A Hold is one attempt to acquire a key, and the end of the lease that it got.
type Hold struct {
	Key     string
	Limit   int
	Try     bool  // the attempt did not wait, and no caller waits for this key
	Call    int64 // the time of the request, in ns
	Return  int64 // the time of the reply
	Outcome Outcome
	Fence   int64

	// The start and the result of the release. End is Lost if the lease was lost, and Unknown after
	// an unknown reply or if the lease was left to expire.
	Ending int64
	Ended  int64
	End    Outcome
}

func (h *Hold) String() string {
	return fmt.Sprintf("acquire(%s, limit %d) %s %d, ended %s", h.Key, h.Limit, outcomes[h.Outcome], h.Fence, outcomes[h.End])
}

// Run runs the processes until ctx ends and returns their holds.
func (c Lockers) Run(ctx context.Context) []Hold {
	or(&c.Processes, 3)
	or(&c.Each, 3)
	or(&c.TTL, driver.MinTTL)
	var mu sync.Mutex
	var all []Hold
	var wg sync.WaitGroup
	start := newClock()
	for p := range c.Processes {
		l := c.Locker(p)
		for i := range c.Each {
			wg.Go(func() {
				u := &user{Lockers: c, clock: start, locker: l, rnd: rand.New(rand.NewPCG(c.Seed, uint64(p*c.Each+i)))}
				for ctx.Err() == nil {
					u.visit()
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, u.holds...)
			})
		}
		defer func() { _ = l.Wait(context.Background()) }() // background requests end within seconds
	}
	wg.Wait()
	return all
}

// A user is one goroutine of a process.
type user struct {
	Lockers
	clock
	locker *lock.Locker
	rnd    *rand.Rand
	holds  []Hold
}

// visit acquires a key or several, holds them for a while, and releases them.
func (u *user) visit() {
	switch u.rnd.IntN(10) {
	case 0, 1, 2, 3: // no caller waits for these keys
		key, limits := "permits", []int{4}
		switch u.rnd.IntN(3) {
		case 0:
			key, limits = "mixed", []int{1, 4, lock.NoLimit}
		case 1:
			key, limits = "plenty", []int{u.Processes * u.Each} // refused only because of leases that were left to expire
		}
		u.one(true, key, limits[u.rnd.IntN(len(limits))])
	case 4:
		u.several()
	default:
		u.one(false, u.key(), []int{1, 1, 2, lock.NoLimit}[u.rnd.IntN(4)])
	}
	u.rest(10 * time.Millisecond)
}

func (u *user) key() string { return fmt.Sprintf("key-%d", u.rnd.IntN(3)) }

func (u *user) rest(most time.Duration) { <-time.After(time.Duration(u.rnd.Int64N(int64(most)))) }

// one acquires one key.
func (u *user) one(try bool, key string, limit int) {
	ctx, stop := u.bound()
	defer stop()
	acquire := u.locker.Acquire
	if try {
		acquire = u.locker.TryAcquire
	}
	h := Hold{Key: key, Limit: limit, Try: try, Call: u.now()}
	lease, err := acquire(ctx, key, lock.Options{TTL: u.TTL, Limit: limit})
	h.Return, h.Outcome = u.now(), outcome(err)
	if err != nil {
		u.holds = append(u.holds, h)
		return
	}
	h.Fence = lease.Fence()
	u.hold()
	h.Ending = u.now()
	if u.rnd.IntN(20) == 0 {
		lease.Abandon(errors.New("left to its deadline"))
	} else {
		h.End = ended(lease.Release(context.Background()))
	}
	h.Ended = u.now()
	u.holds = append(u.holds, h)
}

// several acquires two keys together.
func (u *user) several() {
	ctx, stop := u.bound()
	defer stop()
	keys := []string{u.key(), u.key()}
	call := u.now()
	leases, err := u.locker.AcquireAll(ctx, keys, lock.Options{TTL: u.TTL})
	if err != nil {
		return // it may have held one of the keys for a while and released it
	}
	answered := u.now()
	u.hold()
	ending := u.now()
	end := ended(leases.Release(context.Background()))
	for _, lease := range leases.All() {
		u.holds = append(u.holds, Hold{Key: lease.Key(), Limit: 1, Call: call, Return: answered, Outcome: OK, Fence: lease.Fence(),
			Ending: ending, Ended: u.now(), End: end})
	}
}

// bound returns a context that limits a wait.
func (u *user) bound() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(1+u.rnd.IntN(400))*time.Millisecond)
}

// hold takes the time of some work. In one case of sixteen that is longer than the TTL, so that the
// lease must be renewed.
func (u *user) hold() {
	if u.rnd.IntN(16) == 0 {
		<-time.After(u.TTL + u.TTL/2)
		return
	}
	u.rest(20 * time.Millisecond)
}

// ended returns the outcome of a release for its caller. A lease that the store forgot is lost.
func ended(err error) Outcome {
	if o := outcome(err); o != Forgotten {
		return o
	}
	return Lost
}
