package dispatch

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// MaxSleep is how long the dispatcher sleeps at most, so that a step of the clock is
// noticed.
const MaxSleep = time.Second

// maxWaiting is how many goroutines wait for the timer: one more than must wait, since
// answers are there before the timer fires again.
const maxWaiting = 2

// batchMax is how many claims go to the store in one call. The driver splits them further
// as the store needs.
const batchMax = 1024

// A timer wakes the dispatcher when something is due. The goroutine that it wakes also
// sends what it finds, and waits again after the answer: its stack has grown by then, and
// need not grow once more.
type timer struct {
	*time.Timer           // nil: the dispatcher does not run
	at          time.Time // when it fires; zero: it is not set
	waiting     int       // goroutines
	more        bool      // a goroutine is on its way to dispatch: the timer is not needed
	off         bool      // it fires no more
}

// Run dispatches until Stop is called, and returns when its requests have an answer, or
// have none because life ended.
func (d *Dispatcher) Run(life context.Context) {
	d.mu.Lock()
	d.life = life
	d.timer.Timer = time.NewTimer(MaxSleep)
	go d.loop()
	d.arm()
	d.mu.Unlock()
	<-d.stopped
	d.wg.Wait()
}

// Stop ends Run. When it returns, nothing is sent any more. It is called once.
func (d *Dispatcher) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.off = true
	close(d.stopped)
}

// loop dispatches whenever the timer fires, until Stop is called or enough other
// goroutines wait for the timer.
func (d *Dispatcher) loop() {
	for d.wait() {
		d.dispatch()
	}
}

// wait waits for the timer. It reports whether the caller is to dispatch.
func (d *Dispatcher) wait() bool {
	d.mu.Lock()
	if d.timer.off || d.timer.waiting == maxWaiting {
		d.mu.Unlock()
		return false
	}
	d.timer.waiting++
	d.wg.Add(1)
	d.mu.Unlock()
	defer d.wg.Done()
	select {
	case <-d.timer.C:
	case <-d.stopped:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.waiting--
	return !d.timer.off
}

// dispatch takes what is due, arms the timer for what comes next, and sends what it took.
func (d *Dispatcher) dispatch() {
	d.cfg.Maintain(time.Now())
	now := d.cfg.Clock.Ms()
	d.mu.Lock()
	if d.timer.off {
		d.mu.Unlock()
		return
	}
	batch := d.claims.Take(now, d.lead.ms())
	requests := d.split(batch)
	if len(requests) > 0 && d.timer.waiting == 0 {
		go d.loop()
	}
	for _, r := range requests {
		d.sending[r] = struct{}{}
	}
	d.wg.Add(len(requests))
	d.woke = time.Now()
	d.timer.at, d.timer.more = time.Time{}, batch.More
	d.arm()
	d.mu.Unlock()
	d.changed()
	d.runs.Expect(len(batch.Claims))
	if batch.More {
		go func() {
			runtime.Gosched() // what was granted begins first
			d.dispatch()
		}()
	}
	for i, r := range requests {
		if i < len(requests)-1 {
			go r.send(d)
		} else {
			r.send(d)
		}
	}
}

// split makes requests of a batch, each for one shard and of a bounded size.
func (d *Dispatcher) split(b claims.Batch) (requests []*request) {
	for _, shard := range job.ByShard(d.cfg.Claims.Shards, b.Claims, (*claims.Pending).Shard) {
		for part := range slices.Chunk(shard, batchMax) {
			requests = append(requests, &request{claims: part})
		}
	}
	for _, share := range b.Peeks {
		requests = append(requests, &request{share: share})
	}
	return requests
}

// arm sets the timer to when something is due. A timer that fires earlier than needed is
// left alone: it costs one look. The mutex is held.
func (d *Dispatcher) arm() {
	if d.timer.Timer == nil || d.timer.off || d.timer.more {
		return
	}
	sleep := d.sleep()
	at := time.Now().Add(sleep)
	if !d.timer.at.IsZero() && !at.Before(d.timer.at) {
		return
	}
	d.timer.at = at
	d.timer.Reset(sleep)
}

// sleep returns for how long nothing is due, at most MaxSleep, or MaxIdle where no run of this node
// has to be watched and the clock takes no steps. The mutex is held.
func (d *Dispatcher) sleep() time.Duration {
	most := MaxSleep
	if d.cfg.Local && d.claims.Free() == d.cfg.Claims.Slots {
		most = MaxIdle
	}
	now := d.cfg.Clock.Now()
	next := d.claims.Next(now.UnixMilli(), d.lead.ms())
	if next == 0 {
		return most
	}
	return min(max(time.UnixMilli(next).Sub(now), 0), most)
}
