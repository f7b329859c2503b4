package plays

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
)

// A Store answers the requests of a play.
type Store interface {
	series.Numbered
	series.Controlled
	series.Journaled
}

// Epoch is when a play on a store begins.
const Epoch = int64(1_767_571_200_000) // 2026-01-05T00:00:00Z

// seed makes the plays on each store the same: a case that fails once fails again.
const seed = 20260101

// HoldOn plays several times, and ten times as often with CRONCE_SOAK. Each play has a store without data, whose clock is set. Half
// of the plays have nodes of two specs.
func HoldOn(t *testing.T, rounds int, open func() Store, set func(ms int64)) {
	t.Helper()
	if os.Getenv("CRONCE_SOAK") != "" {
		rounds *= 10
	}
	rig.Random(t, seed, rounds, func(r *rand.Rand) {
		set(Epoch)
		s := &onStore{t: t, store: open(), now: Epoch, set: set}
		specs := rig.OneOf(r, []string{Every}, []string{Every, "5/15 * * * * *"})
		Draw(r, &Cast{Stage: s}, specs...).Hold(t)
	})
}

// onStore is a store as a stage. Each third request is sent twice, as if its reply had been lost: the second one changes nothing.
type onStore struct {
	t     *testing.T
	store Store
	now   int64
	set   func(ms int64)
	sent  int
}

// sends sends a request, and perhaps sends it again. It returns the first answer.
func sends[A any](s *onStore, request func() A, failure func(A) error) A {
	s.t.Helper()
	first := request()
	if err := failure(first); err != nil {
		s.t.Fatal(err)
	}
	if s.sent++; s.sent%3 == 0 {
		if err := failure(request()); err != nil {
			s.t.Fatalf("sent again: %v", err)
		}
	}
	return first
}

func (s *onStore) Now() int64 { return s.now }

func (s *onStore) Pass(ms int64) {
	s.now += ms
	s.set(s.now)
}

func (s *onStore) Open(o series.OpenRequest) {
	s.t.Helper()
	sends(s, func() series.Series { return s.store.Open(s.t.Context(), []series.OpenRequest{o})[0] }, func(a series.Series) error { return a.Err })
}

func (s *onStore) Claim(c series.Claim) series.Answer {
	s.t.Helper()
	return sends(s, func() series.Answer { return s.store.Claim(s.t.Context(), []series.Claim{c})[0] }, func(a series.Answer) error { return a.Err })
}

func (s *onStore) Renew(r series.RunRef) {
	s.t.Helper()
	sends(s, func() series.RenewAnswer { return s.store.RenewRuns(s.t.Context(), []series.RunRef{r})[0] }, func(a series.RenewAnswer) error { return a.Err })
}

func (s *onStore) Release(e series.EndRequest) series.EndAnswer {
	s.t.Helper()
	return sends(s, func() series.EndAnswer { return s.store.ReleaseRuns(s.t.Context(), []series.EndRequest{e})[0] }, func(a series.EndAnswer) error { return a.Err })
}

func (s *onStore) Control(c series.Control) series.ControlAnswer {
	s.t.Helper()
	return sends(s, func() series.ControlAnswer { return s.store.Control(s.t.Context(), c) }, func(a series.ControlAnswer) error { return a.Err })
}

func (s *onStore) Series() series.Series {
	s.t.Helper()
	is := s.store.ReadSeries(s.t.Context(), []string{Key})[0]
	if is.Err != nil {
		s.t.Fatal(is.Err)
	}
	return is
}

func (s *onStore) Journal() series.Journal {
	s.t.Helper()
	j, err := s.store.Journal(s.t.Context(), Key, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

func (s *onStore) Audit() []series.AuditRecord {
	s.t.Helper()
	records, err := s.store.Audit(s.t.Context(), Key, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}
