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
	spare []*line // that nobody stands in, to be used again
}

// abreast is how many readers of one line ask the store at the same time: each
// may take a place in its queue.
const abreast = 16

// A line is there while somebody has the turn. Those behind are woken in order.
type line struct {
	key     string
	asking  int  // how many have the turn
	readers bool // all who have it are
	behind  []turn
}

// A turn is what somebody stands in line for.
type turn struct {
	come   chan struct{} // closed when it has come
	reader bool
}

// take returns when it is the caller's turn, who must then pass it on, in the line
// that he stands in.
func (t *turns) take(ctx context.Context, key string, reader bool) (*line, error) {
	l, come := t.join(key, reader)
	if come == nil {
		return l, nil
	}
	select {
	case <-come:
		return l, nil
	case <-ctx.Done():
	}
	if !t.leave(l, come) { // it was our turn meanwhile
		t.pass(l)
	}
	return nil, context.Cause(ctx)
}

// taken reports whether somebody waits in a line here, be it first.
func (t *turns) taken(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[key] != nil
}

// join returns nil for the turn if it is the caller's at once.
func (t *turns) join(key string, reader bool) (l *line, come chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l = t.lines[key]; l == nil {
		l = t.begin(key)
	}
	next := turn{reader: reader}
	if len(l.behind) == 0 && l.let(next) {
		return l, nil
	}
	next.come = make(chan struct{})
	l.behind = append(l.behind, next)
	return l, next.come
}

// begin begins a line. The mutex is held.
func (t *turns) begin(key string) *line {
	if t.lines == nil {
		t.lines = make(map[string]*line)
	}
	var l *line
	if last := len(t.spare) - 1; last >= 0 {
		l, t.spare = t.spare[last], t.spare[:last]
	} else {
		l = new(line)
	}
	l.key = key
	t.lines[key] = l
	return l
}

// leave reports whether the turn had not come yet. Those behind may go on then.
func (t *turns) leave(l *line, come chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(l.behind, func(b turn) bool { return b.come == come })
	if i < 0 {
		return false
	}
	l.behind = slices.Delete(l.behind, i, i+1)
	l.advance()
	return true
}

// pass gives a turn to whoever is next in line.
func (t *turns) pass(l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.asking--
	l.advance()
	if l.asking == 0 {
		delete(t.lines, l.key)
		*l = line{}
		t.spare = append(t.spare, l)
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
