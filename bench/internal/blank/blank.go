// Package blank is a store that keeps nothing: it answers every claim as decided by another node.
// With it a scheduler's timetable can be measured alone.
package blank

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A Store answers at once. Shift is added to its clock, which is the clock of this machine.
type Store struct {
	Shift time.Duration
	asked atomic.Int64
}

// Asked returns how many claims were answered so far.
func (s *Store) Asked() int64 { return s.asked.Load() }

func (s *Store) now() time.Time { return time.Now().Add(s.Shift).Round(0) }

// Claim answers every claim with passed.
func (s *Store) Claim(_ context.Context, cs []series.Claim) []series.Answer {
	s.asked.Add(int64(len(cs)))
	now := s.now().UnixMilli()
	answers := make([]series.Answer, len(cs))
	for i := range cs {
		answers[i] = series.Answer{Kind: series.KindPassed, Number: cs[i].Number, State: series.RunDone, Mark: cs[i].Number, Now: now}
	}
	return answers
}

// Open answers that the series begins now.
func (s *Store) Open(_ context.Context, os []series.OpenRequest) []series.Series {
	now := s.now().UnixMilli()
	all := make([]series.Series, len(os))
	for i, o := range os {
		all[i] = series.Series{Key: o.Key, Now: now, Mark: max(now, o.Mark), Since: now}
	}
	return all
}

// ReadSeries answers that no series is open.
func (s *Store) ReadSeries(_ context.Context, keys []string) []series.Series {
	return make([]series.Series, len(keys))
}

// RenewRuns answers that no run is held.
func (s *Store) RenewRuns(_ context.Context, rs []series.RunRef) []series.RenewAnswer {
	return make([]series.RenewAnswer, len(rs))
}

// ReleaseRuns answers that no run was held.
func (s *Store) ReleaseRuns(_ context.Context, es []series.EndRequest) []series.EndAnswer {
	return make([]series.EndAnswer, len(es))
}

// Pause does nothing.
func (s *Store) Pause(context.Context, string, int64) series.Series { return series.Series{} }

// Resume does nothing.
func (s *Store) Resume(context.Context, string, int64) series.Series { return series.Series{} }

// Journal returns an empty journal.
func (s *Store) Journal(_ context.Context, key string, _ int) (series.Journal, error) {
	return series.Journal{Key: key}, nil
}

// Keys returns no keys.
func (s *Store) Keys(context.Context) ([]string, error) { return nil, nil }

// Acquire refuses every key.
func (s *Store) Acquire(_ context.Context, a driver.Acquisition) (driver.Grant, error) {
	return driver.Grant{}, &lock.HeldError{Key: a.Key, Left: a.TTL}
}

// Renew answers that the lease is lost.
func (s *Store) Renew(context.Context, driver.LeaseRef) (driver.Grant, error) {
	return driver.Grant{}, lock.ErrLost
}

// Release does nothing.
func (s *Store) Release(context.Context, driver.LeaseRef) error { return nil }

// Now reads the clock.
func (s *Store) Now(context.Context) ([]driver.ClockReading, error) {
	now := time.Now()
	return []driver.ClockReading{{Server: "blank", Time: s.now(), Sent: now, Received: time.Now()}}, nil
}

// Beat answers that the node is alone.
func (s *Store) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	readings, err := s.Now(ctx)
	return series.BeatAnswer{Nodes: []string{b.Node}, Readings: readings}, err
}

// Leave does nothing.
func (s *Store) Leave(context.Context, string) error { return nil }

// Members returns an empty list.
func (s *Store) Members(context.Context) (series.MemberList, error) { return series.MemberList{}, nil }
