package lock

import (
	"context"
	"slices"
	"sync"
)

// turns are the lines of this process, one per key: who is first has the turn to
// ask the store. Readers that stand next to each other have it together.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// abreast is how many readers of one line ask the store at the same time: each
// may take a place in its queue.
const abreast = 16

// A line is there while somebody has the turn. Those behind are woken in order.
type line struct {
	asking  int  // how many have the turn
	readers bool // all who have it are
	behind  []turn
}

// A turn is what somebody stands in line for.
type turn struct {
	come   chan struct{} // closed when it has come
	reader bool
}

// take returns nil when it is the caller's turn, who must then pass it on.
func (t *turns) take(ctx context.Context, key string, reader bool) error {
	come := t.join(key, reader)
	if come == nil {
		return nil
	}
	select {
	case <-come:
		return nil
	case <-ctx.Done():
	}
	if !t.leave(key, come) { // it was our turn meanwhile
		t.pass(key)
	}
	return context.Cause(ctx)
}

// taken reports whether somebody waits in a line here, be it first.
func (t *turns) taken(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[key] != nil
}

// join returns nil if the turn is the caller's at once.
func (t *turns) join(key string, reader bool) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		if t.lines == nil {
			t.lines = make(map[string]*line)
		}
		l = &line{}
		t.lines[key] = l
	}
	next := turn{reader: reader}
	if len(l.behind) == 0 && l.let(next) {
		return nil
	}
	next.come = make(chan struct{})
	l.behind = append(l.behind, next)
	return next.come
}

// leave reports whether the turn had not come yet. Those behind may go on then.
func (t *turns) leave(key string, come chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		return false
	}
	i := slices.IndexFunc(l.behind, func(b turn) bool { return b.come == come })
	if i < 0 {
		return false
	}
	l.behind = slices.Delete(l.behind, i, i+1)
	l.advance()
	return true
}

// pass gives a turn to whoever is next in line.
func (t *turns) pass(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	l.asking--
	l.advance()
	if l.asking == 0 {
		delete(t.lines, key)
	}
}

// advance gives the turn to all at the head of the line that may have it now.
func (l *line) advance() {
	for len(l.behind) > 0 && l.let(l.behind[0]) {
		close(l.behind[0].come)
		l.behind = l.behind[1:]
	}
}

// let gives the turn to the next one, if it may have it beside those who do.
func (l *line) let(next turn) bool {
	if l.asking > 0 && (!l.readers || !next.reader || l.asking >= abreast) {
		return false
	}
	l.asking++
	l.readers = next.reader
	return true
}
