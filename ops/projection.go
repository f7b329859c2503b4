package ops

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A Store has the data that a projection reads. It writes nothing. From a store that is a
// [series.Changes] too, a refresh reads only the jobs that have changed, or that may look different
// by the passing of time alone.
type Store interface {
	Keys(ctx context.Context) ([]string, error)
	ReadSeries(ctx context.Context, keys []string) []series.Series
	Journal(ctx context.Context, key string, n int) (series.Journal, error)
	Members(ctx context.Context) (series.MemberList, error)
}

// Intervals of the refreshes.
const (
	watchedEvery = time.Second      // while the projection is read
	idleEvery    = 10 * time.Second // otherwise
	watchedFor   = 30 * time.Second // after the last read
	share        = 25               // at most 1/25 of the time is spent reading, as long as the rest is not longer than mostRest
	mostRest     = 5 * time.Second  // after a refresh that took long
	wholeEvery   = time.Minute      // after which all jobs are read, even if the store names those that have changed
	readTimeout  = 10 * time.Second // of one refresh
)

// Options are the options of a [Projection].
type Options struct {
	Store     Store
	Namespace string
	// Explain returns the reason why a request failed, without addresses. If it is nil or returns
	// "", the error is shown.
	Explain func(error) string
	// Lines is the number of lines of all journals together that are kept in memory. Each job
	// has an equal share, but at least 6 lines and those that are new, and at most 60. It has up to 20 older exceptions, and fewer
	// if these are more than a quarter of Lines together. Zero: 60,000, which take some 40 MB.
	Lines int
}

// A Projection keeps the state of a namespace in memory. It is safe for concurrent use. Make
// one with [New]: the zero Projection cannot be used.
type Projection struct {
	o      Options
	turn   chan struct{} // held by the one refresh at a time
	reader reader

	mu       sync.Mutex
	current  *Snapshot
	changed  chan struct{} // closed with the next snapshot
	watchers int
	asked    time.Time
	wake     chan struct{}
}

// New returns a projection that has read nothing. It starts nothing.
func New(o Options) *Projection {
	if o.Lines == 0 {
		o.Lines = 60_000
	}
	p := &Projection{o: o, turn: make(chan struct{}, 1), changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.current = &Snapshot{Namespace: o.Namespace, Nodes: NewNodeList(series.MemberList{}, errNotRead), Down: errNotRead.Error()}
	p.reader = reader{o: o, words: words{}}
	return p
}

var errNotRead = errors.New("the store was not read yet")

// Namespace returns the namespace of the projection.
func (p *Projection) Namespace() string { return p.o.Namespace }

// Run refreshes the projection until ctx ends: each second while it is watched, or else every 10
// seconds.
func (p *Projection) Run(ctx context.Context) {
	for {
		began := time.Now()
		p.Refresh(ctx)
		wait := p.pause(time.Since(began))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
		}
	}
}

// pause returns the wait after a refresh that took this long. The time of a refresh of all jobs that
// comes once in wholeEvery is shared out over that time.
func (p *Projection) pause(took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := idleEvery
	if p.watchers > 0 || time.Since(p.asked) < watchedFor {
		every = watchedEvery
	}
	if p.current.suspects {
		every = min(every, SecondProbe)
	}
	rest := took * share
	if p.current.planned {
		rest -= wholeEvery
	}
	return max(every, min(rest, mostRest))
}

// Refresh reads the store once, and returns the new snapshot.
func (p *Projection) Refresh(ctx context.Context) *Snapshot {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return p.Peek()
	}
	defer func() { <-p.turn }()
	bounded, stop := context.WithTimeout(ctx, readTimeout)
	defer stop()
	next := p.reader.read(bounded, p.Peek())
	if ctx.Err() != nil { // the reader has left, which proves nothing about the store
		return p.Peek()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = next
	close(p.changed)
	p.changed = make(chan struct{})
	return next
}

// Peek returns the latest snapshot. It does not speed up the refreshes.
func (p *Projection) Peek() *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Snapshot returns the latest snapshot for a reader, and makes the projection refresh each second
// for a while.
func (p *Projection) Snapshot() *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.watchers == 0 && time.Since(p.asked) >= watchedFor
	p.asked = time.Now()
	if idle {
		p.hurry()
	}
	return p.current
}

// Watch makes the projection refresh each second until stop is called.
func (p *Projection) Watch() (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchers++; p.watchers == 1 {
		p.hurry()
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers--
	})
}

// Watchers returns the number of watchers.
func (p *Projection) Watchers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watchers
}

// hurry ends the wait before the next refresh.
func (p *Projection) hurry() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Await returns the latest snapshot once it is another one than the caller has seen; a nil seen is
// none. If ctx ends first, Await returns the error of ctx.
func (p *Projection) Await(ctx context.Context, seen *Snapshot) (*Snapshot, error) {
	for {
		p.mu.Lock()
		current, changed := p.current, p.changed
		p.mu.Unlock()
		if current != seen {
			return current, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
