package requests

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/health"
)

// A Driver has the parts of a store that a scheduler needs.
type Driver interface {
	driver.Driver
	series.Numbered
	series.Journaled
	driver.Clocked
	series.Membership
}

// A Store forwards requests to a driver and measures them. Of a driver's optional capabilities it
// forwards those that a claimer uses.
type Store struct {
	Driver
	counts *Counts
}

// Measure returns a store that counts its requests in c.
func (c *Counts) Measure(d Driver) *Store { return &Store{d, c} }

// note counts a request that was sent at began. It counts as answered if one of its parts was.
func note[A any](s *Store, op Op, began time.Time, answers []A, err func(*A) error) {
	r := Doubt
	for i := range answers {
		if health.Reached(err(&answers[i])) {
			r = Answered
			break
		}
	}
	s.counts.add(op, r, time.Since(began))
}

// noteOne counts a request with one answer.
func (c *Counts) noteOne(op Op, began time.Time, err error) {
	r := Doubt
	if health.Reached(err) {
		r = Answered
	}
	c.add(op, r, time.Since(began))
}

// MostShards implements [series.Sharder]. It returns 0 if the driver does not.
func (s *Store) MostShards() int {
	if d, can := s.Driver.(series.Sharder); can {
		return d.MostShards()
	}
	return 0
}

// Open implements [series.Numbered].
func (s *Store) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	began := time.Now()
	all := s.Driver.Open(ctx, os)
	note(s, Open, began, all, func(a *series.Series) error { return a.Err })
	return all
}

// Claim implements [series.Numbered].
func (s *Store) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	began := time.Now()
	all := s.Driver.Claim(ctx, cs)
	note(s, Claim, began, all, func(a *series.Answer) error { return a.Err })
	return all
}

// RenewRuns implements [series.Numbered].
func (s *Store) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	began := time.Now()
	all := s.Driver.RenewRuns(ctx, rs)
	note(s, Renew, began, all, func(a *series.RenewAnswer) error { return a.Err })
	for i := range all {
		result := lost
		switch {
		case all[i].Err != nil:
			result = unanswered
		case all[i].Alive:
			result = renewed
		}
		s.counts.renewals[result].Add(1)
	}
	return all
}

// ReleaseRuns implements [series.Numbered].
func (s *Store) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	began := time.Now()
	all := s.Driver.ReleaseRuns(ctx, es)
	note(s, End, began, all, func(a *series.EndAnswer) error { return a.Err })
	return all
}

// Journal implements [series.Journaled].
func (s *Store) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	began := time.Now()
	j, err := s.Driver.Journal(ctx, key, n)
	s.counts.noteOne(Journal, began, err)
	return j, err
}

// Now implements [driver.Clocked].
func (s *Store) Now(ctx context.Context) ([]driver.ClockReading, error) {
	began := time.Now()
	rs, err := s.Driver.Now(ctx)
	s.counts.noteOne(Clock, began, err)
	return rs, err
}

// Beat implements [series.Membership].
func (s *Store) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	began := time.Now()
	a, err := s.Driver.Beat(ctx, b)
	s.counts.noteOne(Beat, began, err)
	return a, err
}

// Partitions returns the number of partitions of the driver, or 1 if it is not partitioned.
func (s *Store) Partitions() int {
	if partitioned, is := s.Driver.(series.Partitioned); is {
		return max(partitioned.Partitions(), 1)
	}
	return 1
}

// Partition returns the partition of a key, or 0 if the driver is not partitioned.
func (s *Store) Partition(key string) int {
	if partitioned, is := s.Driver.(series.Partitioned); is {
		return partitioned.Partition(key)
	}
	return 0
}

// Refuses implements [driver.Refuser]. It returns false if the driver is no Refuser.
func (s *Store) Refuses(err error) bool {
	refuser, is := s.Driver.(driver.Refuser)
	return is && refuser.Refuses(err)
}

// Replicas returns the driver's number of replicas for a key. It is called only for claims with
// replicas, and no job has such claims if the driver is not driver.Replicated.
func (s *Store) Replicas(ctx context.Context, key string) (int, error) {
	replicated, is := s.Driver.(driver.Replicated)
	if !is {
		return 0, fmt.Errorf("replicas of %q: %w", key, driver.ErrUnsupported)
	}
	return replicated.Replicas(ctx, key)
}

// A peeker measures peeks.
type peeker struct {
	series.Peeker
	counts *Counts
}

// MeasurePeeks returns a peeker that counts its requests in c.
func (c *Counts) MeasurePeeks(p series.Peeker) series.Peeker { return &peeker{p, c} }

// Peek implements [series.Peeker].
func (p *peeker) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	began := time.Now()
	all, err := p.Peeker.Peek(ctx, ps, whole)
	p.counts.noteOne(Peek, began, err)
	return all, err
}

// A groupPeeker measures peeks, and requests about groups as peeks.
type groupPeeker struct {
	series.GroupPeeker
	counts *Counts
}

// MeasureGroups returns a peeker that counts its requests in c.
func (c *Counts) MeasureGroups(p series.GroupPeeker) series.GroupPeeker { return &groupPeeker{p, c} }

// Decided implements [series.GroupPeeker].
func (p *groupPeeker) Decided(ctx context.Context, g series.Group) (bool, error) {
	began := time.Now()
	decided, err := p.GroupPeeker.Decided(ctx, g)
	p.counts.noteOne(Peek, began, err)
	return decided, err
}

// KeepDecided implements [series.GroupPeeker].
func (p *groupPeeker) KeepDecided(ctx context.Context, g series.Group) error {
	began := time.Now()
	err := p.GroupPeeker.KeepDecided(ctx, g)
	p.counts.noteOne(Peek, began, err)
	return err
}
