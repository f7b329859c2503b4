package memlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var _ interface {
	driver.Driver
	driver.Waiter
	driver.Sharer
	driver.MultiAcquirer
	driver.MultiRenewer
	driver.Inspector
	driver.Forcer
	series.Numbered
	series.Sharder
	series.Controlled
	series.Journaled
	series.OutputKeeper
	driver.Clocked
	series.Membership
	series.Changes
	series.RunNotifier
} = (*Store)(nil)

// Options are the options of a [Store].
type Options struct {
	// Now is the store's clock, which judges leases. Nil: time.Now. It is called with a mutex held
	// and must not call the store.
	Now func() time.Time
	// JournalLines bounds the journal of one series. Zero: 1000. The minimum is 2.
	JournalLines int
	// JournalTotal bounds the lines of all series together, beyond the first 16 of each. Zero:
	// 1,000,000.
	JournalTotal int
}

// A Store keeps leases, series and nodes in memory. The zero Store is empty and ready to use. It is
// safe for concurrent use and must not be copied. A request whose context has ended is not carried
// out and is answered with doubt.
type Store struct {
	options Options
	mu      sync.Mutex
	leases  map[string][]lease
	queues  map[string][]*place
	sweepAt int // how many leases there must be before expired ones are deleted
	fences  fences
	books   books
	series  map[string]*record
	opened  *record // the series that was opened last
	latest  *record // the series that was read last
	nodes   map[string]member
	pen     pen
	audit   audit
	groups  map[series.Group]int64 // until when each is kept, in Unix ms
	losses  int                    // how often the store lost its data
	notices map[*notices]struct{}
}

// A record is the stored data of one series.
type record struct {
	key  string
	next *record // the series that was opened after it
	series.State
	room      [1]series.Run // the memory of State.Runs while it has one run, which is usual
	journal   journal
	sightings series.Sightings
	outputs   series.Outputs
}

// New returns an empty store.
func New(o Options) *Store { return &Store{options: o} }

// Forget deletes all data, as a server does that lost its data.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases, s.queues, s.series, s.nodes = nil, nil, nil, nil
	s.opened, s.latest = nil, nil
	s.sweepAt, s.fences, s.pen = 0, fences{}, pen{}
	s.books, s.audit = books{}, audit{}
	s.groups = nil
	s.losses++
}

// Local reports whether the store's clock is time.Now. If so, the nodes of a scheduler send no
// request while no run is alive and no tick is due, for up to an hour. A type that embeds a Store
// and lets requests fail must override Local and return false.
func (s *Store) Local() bool { return s.options.Now == nil }

// doubt returns the error of a request whose context has ended, and nil otherwise.
func doubt(ctx context.Context, what, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lock: %s %q: %w", what, key, err)
	}
	return nil
}
