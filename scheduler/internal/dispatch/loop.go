package dispatch

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// MaxSleep bounds a sleep of the dispatcher, so that it notices a step of the clock.
const MaxSleep = time.Second

// maxWaiting bounds the goroutines that wait for the timer. One must wait, and a second one may: a
// goroutine that has sent requests usually returns with the answers before the timer fires again.
const maxWaiting = 2

// batchMax is the number of claims that go to the store in one call. The driver splits them further
// if the store needs it.
const batchMax = 1024

// A timer wakes the dispatcher when a request is due. The goroutine that it wakes also sends the
// requests, and waits for the timer again after the answer: its stack has grown by then and need
// not grow again.
type timer struct {
	*time.Timer           // nil: the dispatcher does not run
	at          time.Time // when it fires; zero: it is not set
	waiting     int       // number of waiting goroutines
	more        bool      // a goroutine is about to dispatch, so the timer is not needed
	off         bool      // the timer fires no more
}

// Run dispatches until Stop is called. It returns when every request has an answer, or life has
// ended.
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

// Stop ends Run. After it returns, no request is sent. It is called once.
func (d *Dispatcher) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.off = true
	close(d.stopped)
}

// loop dispatches whenever the timer fires, until Stop is called or enough other goroutines wait
// for the timer.
func (d *Dispatcher) loop() {
	for d.wait() {
		d.dispatch()
	}
}

// wait waits for the timer. It reports whether the caller must dispatch.
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

// dispatch takes the due requests, arms the timer for the next ones, and sends the ones it took.
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
	d.wg.Add(len(requests) + len(batch.Keeps))
	d.woke = time.Now()
	d.timer.at, d.timer.more = time.Time{}, batch.More
	d.arm()
	d.mu.Unlock()
	if batch.Beat {
		d.cfg.Beat.Raise()
	}
	d.changed()
	for _, g := range batch.Keeps {
		go d.keep(g)
	}
	d.cfg.Runs.Expect(len(batch.Claims))
	if batch.More {
		go func() {
			runtime.Gosched() // granted runs begin first
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

// split makes requests of a batch, each for one partition and of a bounded size.
func (d *Dispatcher) split(b claims.Batch) (requests []*request) {
	for _, partition := range job.ByPartition(d.cfg.Claims.Partitions, b.Claims, (*claims.Pending).Partition) {
		for part := range slices.Chunk(partition, batchMax) {
			requests = append(requests, &request{claims: part})
		}
	}
	for _, share := range b.Peeks {
		requests = append(requests, &request{share: share})
	}
	return requests
}

// arm sets the timer for the next due request. A timer that fires too early is left alone, because
// it only costs one wakeup. The caller holds the mutex.
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

// sleep returns how long nothing is due: at most MaxSleep, or at most MaxIdle if no run of this
// node has to be watched and the clock takes no steps. The caller holds the mutex.
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
