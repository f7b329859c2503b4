package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// wait gets a lease for whose turn it is here. It returns with the lease, so that
// the next one here takes a place in the store while this one holds the key: a
// release then finds it, or whoever of another process came before it.
func (l *Locker) wait(ctx context.Context, a Acquisition, fixed bool) (*Lease, error) {
	for {
		a.Fence = l.seen.Load()
		sent := time.Now()
		g, err := l.queue(ctx, a)
		if err != nil {
			return nil, failed(ctx, a.Key, err)
		}
		lease, err := l.keep(ctx, a, fixed, g, sent)
		switch {
		case err != nil && ctx.Err() == nil: // too late: ask as somebody new
			a.Owner = l.Owner()
		case err == nil && ctx.Err() != nil:
			_ = lease.Release(context.WithoutCancel(ctx)) // its TTL ends it otherwise
			return nil, failed(ctx, a.Key, ctx.Err())
		default:
			return lease, err
		}
	}
}

// failed is the error of an acquisition that waited in vain. Arguments need no
// more words.
func failed(ctx context.Context, key string, err error) error {
	if _, bad := errors.AsType[*ArgumentError](err); bad {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("lock: acquire %q: %w: %w", key, cause, err)
	}
	return fmt.Errorf("lock: acquire %q: %w", key, err)
}

// queue waits in the store, or polls a store in which nobody can.
func (l *Locker) queue(ctx context.Context, a Acquisition) (Grant, error) {
	if w, ok := l.driver.(Waiter); ok {
		return w.Wait(ctx, a)
	}
	for pause := firstRetry; ; pause = min(2*pause, maxPoll) {
		sent := time.Now()
		g, err := l.driver.Acquire(ctx, a)
		if err == nil && g.Asked.IsZero() {
			g.Asked = sent
		}
		if !isHeld(err) && !doubtful(err) {
			return g, err
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			if !isHeld(err) {
				l.undo(ctx, a)
			}
			return Grant{}, err // the caller adds the end of ctx
		}
	}
}

// maxPoll bounds the pauses of polling, from half of it to one and a half.
const maxPoll = 350 * time.Millisecond

// turns are the lines of this process, one per key: who is first has the turn to
// ask the store.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// A line is there while somebody has the turn. Those behind are woken in order.
type line struct{ behind []chan struct{} }

// take returns nil when it is the caller's turn, who must then pass it on.
func (t *turns) take(ctx context.Context, key string) error {
	turn := t.join(key)
	if turn == nil {
		return nil
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !t.leave(key, turn) { // it was our turn meanwhile
		t.pass(key)
	}
	return context.Cause(ctx)
}

// join returns nil if nobody was there.
func (t *turns) join(key string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		if t.lines == nil {
			t.lines = make(map[string]*line)
		}
		t.lines[key] = &line{}
		return nil
	}
	turn := make(chan struct{})
	l.behind = append(l.behind, turn)
	return turn
}

// leave reports whether the turn had not come yet.
func (t *turns) leave(key string, turn chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		return false
	}
	i := slices.Index(l.behind, turn)
	if i < 0 {
		return false
	}
	l.behind = slices.Delete(l.behind, i, i+1)
	return true
}

// pass gives the turn to the next in line.
func (t *turns) pass(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if len(l.behind) == 0 {
		delete(t.lines, key)
		return
	}
	close(l.behind[0])
	l.behind = l.behind[1:]
}
