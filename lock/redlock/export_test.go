package redlock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// Left returns how long a lease is alive on one server: 0 or less if it has ended.
func Left(c redis.UniversalClient, namespace, key string) time.Duration {
	life := c.PTTL(context.Background(), Key(namespace, key)).Val()
	return life - time.Duration(part(c, namespace, key, 2))*time.Millisecond
}

// Fence returns the fence of a lease as one server stores it.
func Fence(c redis.UniversalClient, namespace, key string) int64 { return part(c, namespace, key, 0) }

func part(c redis.UniversalClient, namespace, key string, i int) int64 {
	text, _ := c.Get(context.Background(), Key(namespace, key)).Result()
	if parts := strings.Split(text, "|"); len(parts) == 4 {
		n, _ := strconv.ParseInt(parts[i], 10, 64)
		return n
	}
	return 0
}

// Warm loads the scripts on all servers, and reads the servers' time.
func (d *Driver) Warm(ctx context.Context) {
	for _, n := range d.nodes {
		for _, s := range []*redis.Script{acquireScript, putScript, renewScript, releaseScript} {
			_ = s.Load(ctx, n.client).Err() // a later request reports a missing script
		}
	}
	_, _ = d.propose(ctx, &driver.Acquisition{}) // a later request reads the time again
	d.Settle()
}

// TellTime makes the driver use a time that the servers gave some time ago.
func (d *Driver) TellTime(now time.Time, ago time.Duration) {
	t := time.Now().Add(-ago)
	d.fences.known = false
	d.fences.set(moment{t, t.Round(0)}, now.Add(-ago).UnixMicro())
}

// Suspend makes the driver see that its machine was suspended.
func (d *Driver) Suspend(long time.Duration) { d.slept += long }

// TimeKept is how long the driver uses that time.
const TimeKept = timeKept

// AcquireHash returns the hash of the script that requests a lease.
func AcquireHash() string { return acquireScript.Hash() }

// Key returns the key of a lease.
func Key(namespace, key string) string { return keysOf(namespace, key)[0] }

// BackKey returns the key of the last lease that was given back.
func BackKey(namespace, key string) string { return keysOf(namespace, key)[1] }

func keysOf(namespace, key string) []string {
	d := &Driver{options: Options{Namespace: namespace}}
	return d.keys(key)
}

// Goroutines returns how many servers are swept in the background.
func (d *Driver) Goroutines() (n int) {
	for _, node := range d.nodes {
		node.mu.Lock()
		if node.sweeping {
			n++
		}
		node.mu.Unlock()
	}
	return n
}

// A Vote is a server's yes with a fence.
type Vote struct{ Fence int64 }

// Choose returns the fence of a ballot with these votes, and whether a majority has stored it.
func Choose(majority int, votes []Vote) (fence int64, stands bool) {
	b := ballot{majority: majority}
	for _, v := range votes {
		b.answers = append(b.answers, answer{code: yes, fence: v.Fence})
	}
	fence = b.fence()
	return fence, b.with(fence) >= majority
}

// State returns the string that a server stores for a lease; it outlives the lease by the memory.
func State(fence, attempt int64, memory time.Duration, owner string) string {
	return fmt.Sprintf("%016d|%d|%d|%s", fence, attempt, memory.Milliseconds(), owner)
}

// Hold creates a request now, and its undoing, which are sent when the functions are called.
func (d *Driver) Hold(a driver.Acquisition) (send, undo func()) {
	attempt, fence := d.attempts.Add(1), d.fences.next(a.Fence)
	vote := d.give(acquireScript, a.Key, a.Owner, attempt, a.TTL, fence)
	back := d.takeBack(a.Key, a.Owner, attempt, 0, fence)
	all := func(r request) func() {
		return func() { d.sendAll(context.Background(), time.Minute, r, question{to: d.all}) }
	}
	return all(vote), all(back)
}

// HoldPut creates a request that gives all servers a lease again, which is sent later.
func (d *Driver) HoldPut(h driver.LeaseRef) (send func()) {
	r := d.give(putScript, h.Key, h.Owner, d.attempts.Add(1), h.TTL, h.Fence)
	return func() { d.sendAll(context.Background(), time.Minute, r, question{to: d.all}) }
}

// Settle waits until no request runs whose answer is not awaited.
func (d *Driver) Settle() {
	d.closing.Lock()
	defer d.closing.Unlock()
	d.asking.Wait()
}

// AgreeWithin sets how long the driver waits for servers that may complete a majority for one
// fence.
func (d *Driver) AgreeWithin(wait time.Duration) { d.agree = wait }

// A Server is one of the servers, to which single requests are sent.
type Server struct {
	d *Driver
	n *node
}

// At returns one server of a driver.
func (d *Driver) At(i int) Server { return Server{d, d.nodes[i]} }

// Client returns the server's client.
func (s Server) Client() redis.UniversalClient { return s.n.client }

// Acquire, Put, Renew and Release send one request and return the code of the answer and its fence.
func (s Server) Acquire(l driver.LeaseRef, attempt int64) (code, fence int64) {
	return s.send(s.d.give(acquireScript, l.Key, l.Owner, attempt, l.TTL, l.Fence))
}

func (s Server) Put(l driver.LeaseRef, attempt int64) (code, fence int64) {
	return s.send(s.d.give(putScript, l.Key, l.Owner, attempt, l.TTL, l.Fence))
}

func (s Server) Renew(l driver.LeaseRef, attempt int64) (code, fence int64) {
	return s.send(s.d.give(renewScript, l.Key, l.Owner, attempt, l.TTL, l.Fence))
}

func (s Server) Release(l driver.LeaseRef, attempt, most int64) (code, fence int64) {
	return s.send(s.d.takeBack(l.Key, l.Owner, attempt, l.Fence, most))
}

func (s Server) send(r request) (code, fence int64) {
	a := s.n.call(context.Background(), r)
	if a.err != nil {
		return -1, 0
	}
	return a.code, a.fence
}

// Propose returns a driver's next number above floor, after servers answered their times.
func Propose(floor int64, times ...int64) int64 {
	b := ballot{majority: len(times)}
	for _, at := range times {
		b.answers = append(b.answers, answer{code: yes, fence: at})
	}
	var f fences
	f.set((&Driver{}).now(), b.median())
	return f.next(floor)
}
