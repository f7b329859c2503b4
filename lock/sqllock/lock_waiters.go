package sqllock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// waiters are the owners of this process that wait. The owners that wait for a key form one line;
// the first of them probes for all. The zero value is ready to use.
type waiters struct {
	mu    sync.Mutex
	all   map[string]*woken
	lines map[string]*line
	gone  []string // the owners that could not give their places up, the oldest first; at most mostProbed
}

// A line lists the owners that wait for a key, in the order in which they came.
type line struct {
	owners []string
	watch  watch
	row    int // how often in a row the key was passed on inside the process
}

// A woken wakes an owner that waits.
type woken struct {
	call  chan struct{} // holds one wake-up
	grant driver.Grant  // the grant that the owner got meanwhile, if it has a fence; guarded by the mutex
	kept  bool          // the key is kept for the owner, or the owner should probe; guarded by the mutex
}

func (w *waiters) join(key, owner string) *woken {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all, w.lines = make(map[string]*woken), make(map[string]*line)
	}
	is := &woken{call: make(chan struct{}, 1)}
	w.all[owner] = is
	l := w.lines[key]
	if l == nil {
		l = new(line)
		w.lines[key] = l
	}
	l.owners = append(l.owners, owner)
	return is
}

// leave returns how many owners are left. It wakes the new first owner of the line, which probes
// from now on.
func (w *waiters) leave(key, owner string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, owner)
	l := w.lines[key]
	i := slices.Index(l.owners, owner)
	if i == 0 {
		l.owners = l.owners[1:] // most owners that leave are first
	} else {
		l.owners = slices.Delete(l.owners, i, i+1)
	}
	switch {
	case len(l.owners) == 0:
		delete(w.lines, key)
	case i == 0:
		w.all[l.owners[0]].wake()
	}
	return len(w.all)
}

// none reports whether no owner waits in this process.
func (w *waiters) none() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all) == 0
}

// has reports whether an owner waits in this process.
func (w *waiters) has(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[owner] != nil
}

// line reports whether an owner of this process waits for a key.
func (w *waiters) line(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines[key] != nil
}

// first reports whether an owner is the first in this process that waits for a key.
func (w *waiters) first(key, owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	return l != nil && l.owners[0] == owner
}

// observe records that the database has answered a probe for a key; see watch.
func (w *waiters) observe(key string, now int64, took time.Duration) (asked int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	if l == nil {
		return 0
	}
	return l.watch.observe(now, took)
}

// missed records that a request of an owner that waits for a key was not answered in time.
func (w *waiters) missed(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lines[key]; l != nil {
		l.watch.missed()
	}
}

// next returns the owner in this process to which a key is passed before owners that came earlier
// in other processes, or "". It returns an owner at most inside times in a row.
func (w *waiters) next(key string, inside int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	switch {
	case l == nil:
		return ""
	case l.row >= inside:
		l.row = 0
		return ""
	}
	l.row++
	return l.owners[0]
}

// wake wakes an owner for which the key is kept.
func (w *waiters) wake(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is := w.all[owner]; is != nil {
		is.kept = true
		is.wake()
	}
}

// wakeAll wakes all owners: a notification may have been lost.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, is := range w.all {
		is.kept = true
		is.wake()
	}
}

func (is *woken) wake() {
	select {
	case is.call <- struct{}{}:
	default: // a wake-up is pending
	}
}

// give hands a grant to an owner. An owner that no longer waits has found the grant itself, or
// frees it while it gives up. give reports whether the owner is neither: it could not give up.
func (w *waiters) give(owner string, g driver.Grant) (abandoned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is := w.all[owner]; is != nil {
		is.grant = g
		is.wake()
		return false
	}
	i := slices.Index(w.gone, owner)
	if i >= 0 {
		w.gone = slices.Delete(w.gone, i, i+1)
	}
	return i >= 0
}

// abandon records an owner that could not give its place up. Most of them are never granted
// anything. When there are too many, the oldest is forgotten; if it is granted a lease after all,
// the lease expires.
func (w *waiters) abandon(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gone) == mostProbed {
		w.gone = slices.Delete(w.gone, 0, 1)
	}
	w.gone = append(w.gone, owner)
}

// given returns the grant that an owner was handed, if it has a fence, and whether the owner should
// probe because the key may be kept for it.
func (w *waiters) given(is *woken) (g driver.Grant, kept bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept = is.kept
	is.kept = false
	return is.grant, kept
}

// give hands a grant to an owner of this process. If the owner could not give its place up, give
// frees the key.
func (d *Driver) give(ctx context.Context, key, owner string, g driver.Grant) {
	if !d.waiters.give(owner, g) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer stop()
	_ = d.release(ctx, &driver.LeaseRef{Key: key, Owner: owner, Fence: g.Fence}) // if it fails, the lease expires
}
