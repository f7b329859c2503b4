package redlock

import (
	"sync"
	"sync/atomic"
)

// workers carry out requests, each in a goroutine, and keep some of these for the
// next ones: a new goroutine has to grow its stack before it has sent anything,
// which takes a fifth of what a request costs.
type workers struct {
	jobs chan job      // to one that is idle
	stop chan struct{} // closed: no goroutine idles any more
	once sync.Once
	idle atomic.Int32
	all  sync.WaitGroup
}

// maxIdle is how many goroutines wait for the next request.
const maxIdle = 16

// A job is a request to one server.
type job struct {
	poll *poll
	node int
}

func newWorkers() *workers {
	return &workers{jobs: make(chan job), stop: make(chan struct{})}
}

// do begins a job and does not wait for it.
func (w *workers) do(j job) {
	select {
	case w.jobs <- j:
	default:
		w.all.Go(func() { w.work(j) })
	}
}

func (w *workers) work(j job) {
	for {
		j.poll.carryOut(j.node)
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case j = <-w.jobs:
			w.idle.Add(-1)
		case <-w.stop:
			return
		}
	}
}

// close ends those that are idle, and waits for all.
func (w *workers) close() {
	w.once.Do(func() { close(w.stop) })
	w.all.Wait()
}
