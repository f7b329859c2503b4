package redlock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// Until is the deadline of a lease in ms as one server keeps it: 0 if there is none.
func Until(c redis.UniversalClient, namespace, key string) int64 { return part(c, namespace, key, 2) }

// Fence is the fence of a lease as one server keeps it.
func Fence(c redis.UniversalClient, namespace, key string) int64 { return part(c, namespace, key, 1) }

func part(c redis.UniversalClient, namespace, key string, i int) int64 {
	text, _ := c.Get(context.Background(), Key(namespace, key)).Result()
	if parts := strings.Split(text, "|"); len(parts) == 5 {
		n, _ := strconv.ParseInt(parts[i], 10, 64)
		return n
	}
	return 0
}

// Warm makes the scripts known to all servers.
func (d *Driver) Warm(ctx context.Context) {
	for _, n := range d.nodes {
		for _, s := range []*redis.Script{acquireScript, putScript, renewScript, releaseScript} {
			_ = s.Load(ctx, n.client).Err() // who needs it sees that it is not there
		}
	}
}

// PutHash names the script that tells a server of a lease.
func PutHash() string { return putScript.Hash() }

// Key is the key of a lock.
func Key(namespace, key string) string {
	d := &Driver{options: Options{Namespace: namespace}}
	return d.keys(key)[0]
}

// Goroutines is how many servers are swept in the background.
func (d *Driver) Goroutines() (n int) {
	for _, node := range d.nodes {
		if node.running.Load() {
			n++
		}
	}
	return n
}

// A Vote is a server's yes with a fence.
type Vote struct{ Fence int64 }

// Choose is what a ballot with these votes says of the fence.
func Choose(majority int, votes []Vote) (fence int64, stands bool) {
	b := ballot{majority: majority}
	for _, v := range votes {
		b.answers = append(b.answers, answer{code: yes, fence: v.Fence})
	}
	fence = b.fence()
	return fence, b.with(fence) >= majority
}

// Grain is what the time in a fence is cut to, in µs.
const Grain = grain

// State is the string that a server keeps of a lock.
func State(last, fence, until, attempt int64, owner string) string {
	return fmt.Sprintf("%d|%d|%d|%d|%s", last, fence, until, attempt, owner)
}

// Hold makes a request now, and its undoing, to be sent when they are called.
func (d *Driver) Hold(a lock.Acquisition) (send, undo func()) {
	attempt := d.attempts.Add(1)
	vote := d.request(acquireScript, a.Key, a.Owner, attempt, a.TTL.Milliseconds(), a.Fence, grain)
	back := d.request(releaseScript, a.Key, a.Owner, attempt, 0)
	all := func(r request) func() {
		return func() { d.ask(context.Background(), time.Minute, r, question{first: d.all()}) }
	}
	return all(vote), all(back)
}

// HoldPut makes a request that gives all servers a lease again, to be sent later.
func (d *Driver) HoldPut(h lock.Holding) (send func()) {
	r := d.request(putScript, h.Key, h.Owner, d.attempts.Add(1), h.TTL.Milliseconds(), h.Fence)
	return func() { d.ask(context.Background(), time.Minute, r, question{first: d.all()}) }
}

// Settle waits until no request is under way that nobody waits for.
func (d *Driver) Settle() {
	for d.Untold() > 0 {
		time.Sleep(d.rest)
	}
	d.asking.Wait()
}

// Untold is how many leases only a majority knows of, until the others are told.
func (d *Driver) Untold() int {
	d.untold.mu.Lock()
	defer d.untold.mu.Unlock()
	return len(d.untold.leases)
}

// AskRestAfter sets how long a majority is left alone.
func (d *Driver) AskRestAfter(wait time.Duration) { d.rest = wait }

// First are the clients of the servers that key is asked for first, and the others.
func (d *Driver) First(key string) (first, rest []redis.UniversalClient) {
	asked := d.first(key)
	for i, n := range d.nodes {
		if asked.has(i) {
			first = append(first, n.client)
		} else {
			rest = append(rest, n.client)
		}
	}
	return first, rest
}
