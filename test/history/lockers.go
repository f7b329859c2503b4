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

// Lockers are processes, each with a Locker of its own, whose goroutines want the same
// keys in all the ways there are: trying, waiting for a bounded time, alone, as one of
// some, as readers, and several keys together. Only Locker is required.
type Lockers struct {
	Locker    func(process int) *lock.Locker
	Processes int           // zero: 3
	Each      int           // goroutines of a process; zero: 3
	TTL       time.Duration // zero: driver.MinTTL
	Seed      uint64        // of what the goroutines choose
}

// A Hold is one attempt to get a key, and the end of the lease that came of it.
type Hold struct {
	Key     string
	Limit   int
	Try     bool  // it did not wait, and nothing waits for this key
	Call    int64 // when it was asked for, ns
	Return  int64 // when the answer came
	Outcome Outcome
	Fence   int64

	// Of a lease: the release, which is Lost once the lease was lost, and Unknown after
	// doubt or if the lease is left to its deadline.
	Ending int64
	Ended  int64
	End    Outcome
}

func (h *Hold) String() string {
	return fmt.Sprintf("acquire(%s, limit %d) %s %d, ended %s", h.Key, h.Limit, outcomes[h.Outcome], h.Fence, outcomes[h.End])
}

// Run lets the processes work until ctx ends and returns what they saw.
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
		defer func() { _ = l.Wait(context.Background()) }() // what goes on behind ends within seconds
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

// visit asks for something, holds it for a while, and gives it back.
func (u *user) visit() {
	switch u.rnd.IntN(10) {
	case 0, 1, 2, 3: // nothing waits for these keys
		key, limits := "permits", []int{4}
		switch u.rnd.IntN(3) {
		case 0:
			key, limits = "mixed", []int{1, 4, lock.NoLimit}
		case 1:
			key, limits = "plenty", []int{u.Processes * u.Each} // never used up, but by what is left to its deadline
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

// one asks for one key.
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

// several asks for two keys together.
func (u *user) several() {
	ctx, stop := u.bound()
	defer stop()
	keys := []string{u.key(), u.key()}
	call := u.now()
	leases, err := u.locker.AcquireAll(ctx, keys, lock.Options{TTL: u.TTL})
	if err != nil {
		return // it may have had one of them for a while, which it has given back
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

// bound bounds a wait.
func (u *user) bound() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(1+u.rnd.IntN(400))*time.Millisecond)
}

// hold passes the time of some work. One in sixteen takes longer than a lease lasts that
// is not renewed.
func (u *user) hold() {
	if u.rnd.IntN(16) == 0 {
		<-time.After(u.TTL + u.TTL/2)
		return
	}
	u.rest(20 * time.Millisecond)
}

// ended is the outcome of a release to its caller: a lease that the store forgot is lost.
func ended(err error) Outcome {
	if o := outcome(err); o != Forgotten {
		return o
	}
	return Lost
}
