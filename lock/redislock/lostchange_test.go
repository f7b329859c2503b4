package redislock_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A lossyStore is a driver whose replies can be lost, and one on the same server that hears each reply.
type lossyStore struct {
	*cutter
	d, direct *redislock.Driver
}

// change returns the request of an operator for a change of a series as it stands.
func (s *lossyStore) change(t *testing.T, key string, action series.Action) series.Control {
	t.Helper()
	return series.Control{Key: key, Action: action, Op: key + " " + string(action), Who: "ann", Reason: "for the test", Seen: s.state(t, key).Change}
}

func (s *lossyStore) state(t *testing.T, key string) series.Series {
	t.Helper()
	is := s.direct.ReadSeries(t.Context(), []string{key})[0]
	must(t, is.Err)
	return is
}

func (s *lossyStore) make(t *testing.T, c series.Control) {
	t.Helper()
	if a := s.direct.Control(t.Context(), c); !a.Made {
		t.Fatalf("the %s of %s is answered %+v", c.Action, c.Key, a)
	}
}

// Each action of an operator, on a series that is open and was never changed.
var losableChanges = map[string]func(t *testing.T, s *lossyStore, key string) series.Control{
	"pause": func(t *testing.T, s *lossyStore, key string) series.Control {
		return s.change(t, key, series.ActionPause)
	},
	"resume": func(t *testing.T, s *lossyStore, key string) series.Control {
		s.make(t, s.change(t, key, series.ActionPause))
		return s.change(t, key, series.ActionResume)
	},
	"run": func(t *testing.T, s *lossyStore, key string) series.Control {
		c := s.change(t, key, series.ActionRun)
		c.Until, c.Overlap = s.state(t, key).Now+3_600_000, series.OverlapQueue
		return c
	},
	"cancel": func(t *testing.T, s *lossyStore, key string) series.Control {
		cl := claimOf(key, "a/1", s.state(t, key).Mark+1)
		claim(t, s.direct, cl, series.KindGranted)
		c := s.change(t, key, series.ActionCancel)
		c.Number = cl.Number
		return c
	},
	"skip": func(t *testing.T, s *lossyStore, key string) series.Control {
		c := s.change(t, key, series.ActionSkip)
		c.Number = s.state(t, key).Now + 3_600_000
		return c
	},
	"backfill": backfillOf,
	"stop of a backfill": func(t *testing.T, s *lossyStore, key string) series.Control {
		begin := backfillOf(t, s, key)
		begin.Op = "begin"
		s.make(t, begin)
		return s.change(t, key, series.ActionBackfill)
	},
	"retire": func(t *testing.T, s *lossyStore, key string) series.Control {
		return s.change(t, key, series.ActionRetire)
	},
}

func backfillOf(t *testing.T, s *lossyStore, key string) series.Control {
	t.Helper()
	c := s.change(t, key, series.ActionBackfill)
	last := s.state(t, key).Mark / 1000 * 1000
	c.Numbers, c.Scope = []int64{last - 2000, last - 1000, last}, "the last three"
	return c
}

// The reply to a change of an operator is lost. The same request again gets the answer of the first one: the change is
// made once and has one audit record. The same operation with another body is refused, and changes nothing.
func TestLostReplyToAChange(t *testing.T) {
	server := redisserver.Start(t)
	raw := client(t, server.Addr())
	s := &lossyStore{cutter: newCutter(t, server.Addr()), direct: newDriver(t, raw, redislock.Options{})}
	s.d = newDriver(t, client(t, s.Addr().String()), redislock.Options{})
	open(t, s.direct, raw, "warm")
	s.make(t, s.change(t, "warm", series.ActionPause)) // a NOSCRIPT is not the reply to lose
	for name, prepare := range losableChanges {
		t.Run(name, func(t *testing.T) {
			open(t, s.direct, raw, name)
			c := prepare(t, s, name)
			must(t, s.d.ReadSeries(t.Context(), []string{name})[0].Err) // its connection is open
			lose(t, s.cutter, func() error { return s.d.Control(t.Context(), c).Err })
			first := s.state(t, name)
			again := s.d.Control(t.Context(), c)
			record := s.recordOf(t, c)
			if again.Err != nil || again.Refusal != "" || again.Made || again.Change != c.Seen+1 || again.Change != record.Change || again.Audit != record.Number {
				t.Errorf("asked again it is %+v, and the record is %+v", again, record)
			}
			other := c
			other.Reason = "for another reason"
			if a := s.d.Control(t.Context(), other); a.Err != nil || a.Refusal != series.RefusedOp {
				t.Errorf("another body is answered %+v", a)
			}
			s.recordOf(t, c)
			last := s.state(t, name)
			if last.Change != first.Change || last.Paused != first.Paused || last.Skip != first.Skip || last.Left != first.Left || !slices.Equal(last.Runs, first.Runs) {
				t.Errorf("after the first request the series was %+v, now it is %+v", first, last)
			}
		})
	}
}

// recordOf returns the audit record of a change, and fails the test if it has not exactly one.
func (s *lossyStore) recordOf(t *testing.T, c series.Control) (record series.AuditRecord) {
	t.Helper()
	all, err := s.direct.Audit(t.Context(), c.Key, 0)
	must(t, err)
	all = slices.DeleteFunc(all, func(a series.AuditRecord) bool { return a.Op != c.Op })
	if len(all) != 1 {
		t.Fatalf("the change has %d records, want 1", len(all))
	}
	return all[0]
}
