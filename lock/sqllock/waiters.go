package sqllock

import "sync"

// waiters are the owners of this process that wait, so that a release here need
// not be found by looking. The zero value is ready.
type waiters struct {
	mu    sync.Mutex
	woken map[string]chan struct{} // each holds one wake-up
}

func (w *waiters) join(owner string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken == nil {
		w.woken = make(map[string]chan struct{})
	}
	c := make(chan struct{}, 1)
	w.woken[owner] = c
	return c
}

func (w *waiters) leave(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.woken, owner)
}

func (w *waiters) wake(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.woken[owner] <- struct{}{}: // of an owner elsewhere it is nil
	default: // it is awake
	}
}
