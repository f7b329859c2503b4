package requests_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/requests"
)

var errDown = errors.New("connection refused")

// A slow store answers claims after a while, each as the test says.
type slow struct {
	*memlock.Store
	took    time.Duration
	answers []series.Answer
}

func (s *slow) Claim(context.Context, []series.Claim) []series.Answer {
	time.Sleep(s.took)
	return s.answers
}

func (s *slow) RenewRuns(context.Context, []series.RunRef) []series.RenewAnswer {
	return []series.RenewAnswer{{Alive: true}, {}, {Err: errDown}, {Alive: true}}
}

// A request counts as answered if the store answered one of its claims, or refused one itself. It
// is in the bucket of its duration.
func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		took    time.Duration
		answers []series.Answer
		result  string
		within  float64 // the smallest bucket that has the request; 0: none
	}{
		"granted":                {0, []series.Answer{{Kind: series.KindGranted}}, "ok", .0005},
		"on the bound":           {time.Millisecond, []series.Answer{{}}, "ok", .001},
		"above it":               {1001 * time.Microsecond, []series.Answer{{}}, "ok", .0025},
		"above all":              {3 * time.Second, []series.Answer{{}}, "ok", 0},
		"one of two answered":    {0, []series.Answer{{Err: errDown}, {}}, "ok", .0005},
		"none answered":          {0, []series.Answer{{Err: errDown}, {Err: errDown}}, "doubt", .0005},
		"without its replicas":   {0, []series.Answer{{Err: &driver.ReplicasError{Want: 1}}}, "ok", .0005},
		"of what cannot be read": {0, []series.Answer{{Err: driver.ErrUnreadable}}, "ok", .0005},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var counts requests.Counts
				s := counts.Measure(&slow{memlock.New(memlock.Options{}), c.took, c.answers})
				s.Claim(t.Context(), make([]series.Claim, len(c.answers)))
				for _, m := range counts.Requests() {
					if m.Op != "claim" || m.Result != c.result {
						if m.Count != 0 {
							t.Errorf("%d requests %s with result %s", m.Count, m.Op, m.Result)
						}
						continue
					}
					if m.Count != 1 || m.Seconds != c.took.Seconds() {
						t.Errorf("%d requests of %v s, want one of %v", m.Count, m.Seconds, c.took)
					}
					for _, bound := range requests.Bounds {
						if in := m.Within[bound] == 1; in != (c.within != 0 && bound >= c.within) {
							t.Errorf("the bucket up to %v s has the request: %v", bound, in)
						}
					}
				}
			})
		})
	}
}

// Each kind of request is counted once, as answered.
func TestKinds(t *testing.T) {
	t.Parallel()
	ctx, driver := t.Context(), memlock.New(memlock.Options{})
	for op, send := range map[string]func(c *requests.Counts, s *requests.Store) error{
		"open": func(_ *requests.Counts, s *requests.Store) error {
			return s.Open(ctx, []series.OpenRequest{{Key: "a", Node: "n", Revision: "r"}})[0].Err
		},
		"end": func(_ *requests.Counts, s *requests.Store) error {
			return s.ReleaseRuns(ctx, []series.EndRequest{{}})[0].Err
		},
		"renew":   func(_ *requests.Counts, s *requests.Store) error { return s.RenewRuns(ctx, []series.RunRef{{}})[0].Err },
		"journal": func(_ *requests.Counts, s *requests.Store) error { _, err := s.Journal(ctx, "a", 1); return err },
		"clock":   func(_ *requests.Counts, s *requests.Store) error { _, err := s.Now(ctx); return err },
		"beat": func(_ *requests.Counts, s *requests.Store) error {
			_, err := s.Beat(ctx, series.Beat{Node: "n", TTL: time.Minute})
			return err
		},
		"peek": func(c *requests.Counts, _ *requests.Store) error {
			_, err := c.MeasurePeeks(driver).Peek(ctx, []series.NumberRef{{Key: "a"}}, false)
			return err
		},
		"peek of a group": func(c *requests.Counts, _ *requests.Store) error {
			_, err := c.MeasureGroups(driver).Decided(ctx, series.Group{})
			return err
		},
	} {
		counts := new(requests.Counts)
		err := send(counts, counts.Measure(driver))
		for _, m := range counts.Requests() {
			if want := strings.HasPrefix(op, m.Op) && m.Result == "ok"; err != nil || (m.Count == 1) != want || (m.Count == 0) == want {
				t.Errorf("%s: %d requests %s with result %s (%v)", op, m.Count, m.Op, m.Result, err)
			}
		}
	}
}

// One request renews many leases: each counts by its own answer.
func TestRenewals(t *testing.T) {
	t.Parallel()
	var counts requests.Counts
	counts.Measure(&slow{Store: memlock.New(memlock.Options{})}).RenewRuns(t.Context(), make([]series.RunRef, 4))
	if got := counts.Renewals(); got["renewed"] != 2 || got["lost"] != 1 || got["doubt"] != 1 {
		t.Errorf("renewals %v, want 2 renewed, 1 lost, 1 in doubt", got)
	}
}

// A measured store has no capability that its driver lacks.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	s := new(requests.Counts).Measure(memlock.New(memlock.Options{}))
	if _, err := s.Replicas(t.Context(), "a"); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("replicas: %v, want unsupported", err)
	}
	if s.Partitions() != 1 || s.Partition("a") != 0 || s.Refuses(errDown) {
		t.Error("a store without partitions has several, or refuses")
	}
}
