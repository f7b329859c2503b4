package lock

import (
	"sync"
	"sync/atomic"
)

// maxIdle bounds the workers that are kept for the next caller.
const maxIdle = 256

// workers are the goroutines that ask for callers whose context can end. While callers
// ask, a worker whose caller has its answer serves the next one: its stack is as large
// as a request needs. The last caller that leaves ends those that are idle, so that none
// is left when no caller asks. The zero value is ready.
type workers struct {
	mu     sync.Mutex
	asking int // callers
	idle   []*worker
}

// A worker is one of these goroutines. It belongs to one caller at a time, until the
// caller has returned it or left it to its request.
type worker struct {
	work chan func()   // what it does next; closed: it ends
	done chan struct{} // receives one value when the work has ended and its caller waits for it
	over atomic.Bool   // set by the end of the work or by the caller that leaves, whichever is first
}

// join returns a worker for a caller, which sends it work and calls leave at its end.
func (p *workers) join() *worker {
	p.mu.Lock()
	p.asking++
	var w *worker
	if last := len(p.idle) - 1; last >= 0 {
		w, p.idle = p.idle[last], p.idle[:last]
	}
	p.mu.Unlock()
	if w == nil {
		w = &worker{work: make(chan func(), 1), done: make(chan struct{}, 1)}
		go w.run()
	}
	w.over.Store(false)
	return w
}

// leave returns the worker of a caller, or nil if it goes on without the caller, and ends
// the workers that are not needed.
func (p *workers) leave(w *worker) {
	p.mu.Lock()
	p.asking--
	var ended []*worker
	switch {
	case p.asking == 0:
		ended, p.idle = p.idle, nil
	case w != nil && len(p.idle) < maxIdle:
		p.idle = append(p.idle, w)
		w = nil
	}
	p.mu.Unlock()
	if w != nil {
		close(w.work)
	}
	for _, w := range ended {
		close(w.work)
	}
}

func (w *worker) run() {
	for work := range w.work {
		work()
	}
}
