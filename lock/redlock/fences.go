package redlock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// timeKept is how long a process uses the time of the servers that it has read. Clocks drift apart
// by a few ms in that time.
const timeKept = time.Minute

// maxSuspended is how long the machine may have been suspended while that time is used.
const maxSuspended = 100 * time.Millisecond

// A moment is one instant by both clocks of this process: the monotonic clock stops while the
// machine is suspended, the wall clock does not.
type moment struct{ monotonic, wall time.Time }

func (d *Driver) now() moment {
	t := time.Now()
	return moment{t, t.Round(0).Add(d.slept)}
}

// since returns the time since an earlier moment. If the wall clock was put forward meanwhile, it
// is too long, which does no harm.
func (m moment) since(earlier moment) time.Duration {
	return max(m.monotonic.Sub(earlier.monotonic), m.wall.Sub(earlier.wall))
}

// suspended returns how long the machine was suspended since an earlier moment.
func (m moment) suspended(earlier moment) time.Duration {
	return m.since(earlier) - m.monotonic.Sub(earlier.monotonic)
}

// fences are the numbers that a driver proposes: the servers' time in µs, advanced by this
// process's clock in between, and each higher than the one before.
type fences struct {
	mu       sync.Mutex
	known    bool   // the time of the servers was read, and the machine not suspended since
	read     moment // when it was read
	time     int64  // the time of the servers then
	asking   bool   // a caller is reading it again
	proposed int64
}

// now returns the servers' time, in µs.
func (f *fences) now() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time + time.Since(f.read.monotonic).Microseconds()
}

// last returns the latest number that was proposed.
func (f *fences) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.proposed
}

// next proposes a number above floor. The floor belongs to one key: it must not raise the proposals
// for other keys.
func (f *fences) next(floor int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proposed = max(f.time+time.Since(f.read.monotonic).Microseconds(), f.proposed+1)
	return max(f.proposed, floor+1)
}

// old reports whether the caller must read the time of the servers: every caller until it is known,
// and one at a time when it is old. After a suspension it is not known: a fence proposed from it
// could be below a fence that was granted meanwhile, and that the servers have forgotten.
func (f *fences) old(now moment) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = f.known && now.suspended(f.read) <= maxSuspended
	ask := !f.known || !f.asking && now.since(f.read) > timeKept
	f.asking = f.asking || ask
	return ask
}

// set records the servers' time after an attempt to read it, which began at a moment. 0: the attempt
// failed, and the known time stays; so does one that was read later. It reports whether a time is
// known: an attempt that began before the machine was suspended may have ended since.
func (f *fences) set(began moment, micros int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking = false
	if micros > 0 && (!f.known || began.monotonic.After(f.read.monotonic)) {
		f.known, f.read, f.time = true, began, micros
	}
	f.known = f.known && began.suspended(f.read) <= maxSuspended
	return f.known
}

// propose returns a fence for an acquisition from the time of the servers: the median of the
// answers. A fence that would lie more than a day ahead of it is doubt.
func (d *Driver) propose(ctx context.Context, a *driver.Acquisition) (int64, error) {
	if sent := d.now(); d.fences.old(sent) {
		b := d.sendAll(ctx, d.patience(a.TTL), request{args: []any{"time"}}, question{to: d.all, enough: ballot.timed})
		var micros int64
		if b.timed() {
			micros = b.median()
		}
		if !d.fences.set(sent, micros) {
			return 0, d.doubt(ctx, "acquire", b)
		}
	}
	if err := driver.CheckFence(a.Fence+1, d.fences.now()); err != nil {
		return 0, fmt.Errorf("redlock: acquire: %w", err)
	}
	return d.fences.next(a.Fence), nil
}

// readTime reads the reply to TIME.
func readTime(reply any) (answer, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return answer{}, false
	}
	var n [2]int64
	for i := range parts {
		text, _ := parts[i].(string)
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil || n[i] < 0 {
			return answer{}, false
		}
	}
	micros := n[0]*1_000_000 + n[1]
	return answer{code: yes, fence: micros}, n[0] < driver.MaxNumber/1_000_000
}

// timed reports whether a majority returned its time.
func (b ballot) timed() bool { return b.count(yes) >= b.majority }

// median returns the middle one of the numbers that servers answered, or the lower of two.
func (b ballot) median() int64 {
	var all []int64
	for _, a := range b.by(yes) {
		all = append(all, a.fence)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
