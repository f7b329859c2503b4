package requests_test

import (
	"context"
	"errors"
	"slices"
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
				all := counts.Requests()
				if len(all) != 16 {
					t.Errorf("%d kinds and results, want 16", len(all))
				}
				for _, m := range all {
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

// Each kind of request is counted once, with its result. The caller gets the error of the store.
func TestKinds(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for op, send := range map[string]func(ctx context.Context, c *requests.Counts, s *memlock.Store) error{
		"open": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			return c.Measure(s).Open(ctx, []series.OpenRequest{{Key: "a", Node: "n", Revision: "r"}})[0].Err
		},
		"end": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			return c.Measure(s).ReleaseRuns(ctx, make([]series.EndRequest, 1))[0].Err
		},
		"renew": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			return c.Measure(s).RenewRuns(ctx, make([]series.RunRef, 1))[0].Err
		},
		"journal": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			_, err := c.Measure(s).Journal(ctx, "a", 1)
			return err
		},
		"clock": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			_, err := c.Measure(s).Now(ctx)
			return err
		},
		"beat": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			_, err := c.Measure(s).Beat(ctx, series.Beat{Node: "n", TTL: time.Minute})
			return err
		},
		"peek": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			_, err := c.MeasurePeeks(s).Peek(ctx, []series.NumberRef{{Key: "a"}}, false)
			return err
		},
		"peek of a group": func(ctx context.Context, c *requests.Counts, s *memlock.Store) error {
			_, err := c.MeasureGroups(s).Decided(ctx, series.Group{})
			return err
		},
	} {
		for result, ctx := range map[string]context.Context{"ok": t.Context(), "doubt": ended} {
			var counts requests.Counts
			if err := send(ctx, &counts, memlock.New(memlock.Options{})); !errors.Is(err, ctx.Err()) {
				t.Errorf("%s: %v, want %v", op, err, ctx.Err())
			}
			all := slices.DeleteFunc(counts.Requests(), func(m requests.Measured) bool { return m.Count == 0 })
			if len(all) != 1 || all[0].Count != 1 || !strings.HasPrefix(op, all[0].Op) || all[0].Result != result {
				t.Errorf("%s: counted %+v, want one with result %s", op, all, result)
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
