package lockcommand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// seriesPrefix begins the key of the series of a lock with --tick. No job has a slash in its name.
const seriesPrefix = "lock/"

const (
	mostAhead  = time.Minute                // how far in the future a tick may be for a call to wait for it
	askFor     = 30 * time.Second           // how long requests are repeated if the store does not answer
	askTime    = 5 * time.Second            // the timeout of one request
	askAgain   = time.Second                // the pause before a request is repeated
	noDeadline = 100 * 365 * 24 * time.Hour // a tick that no call has claimed may start at any time
	mostMissed = 1_000_000                  // the most missed ticks that are counted
)

// A tickStore is the part of a store that a call uses, besides [series.Numbered].
type tickStore interface {
	driver.Driver
	driver.Clocked
}

// A tickCall claims one tick of a series for a command that a crontab starts.
type tickCall struct {
	store    tickStore
	refuses  func(error) bool // reports whether the store refuses a request, so that a repeat is useless; nil: it never does
	node     string
	key      string // the key of the series
	schedule *spec.Schedule
	ttl      time.Duration

	now  int64     // the store's clock when it was read
	read time.Time // when that was
	tick int64
}

// tickAt returns the tick for a call at now: the next tick if it is near, because the clock of the
// caller may be ahead of the store's, or else the latest one. It returns 0 if there is neither.
func tickAt(s *spec.Schedule, now int64) int64 {
	last, next := s.PrevMilli(now), s.NextMilli(now)
	near := mostAhead.Milliseconds()
	if last != 0 && next != 0 {
		near = min(near, (next-last)/2)
	}
	if next != 0 && next-now <= near {
		return next
	}
	return last
}

// claim claims the tick of this call, and waits for it if it is not due yet. If this call runs the
// tick, the answer has the lease of the run. Its Lease is nil if another call has the tick, or if
// the tick must not run. The answer is nil if no tick is due. The error is doubt unless it is a
// refusal of the store.
func (c *tickCall) claim(ctx context.Context) (*claimer.Claimed, error) {
	err := c.repeat(ctx, func(ctx context.Context) error {
		if _, _, err := lock.Open(ctx, c.store, c.node); err != nil {
			return err
		}
		return c.readClock(ctx)
	})
	if err != nil {
		return nil, err
	}
	if c.tick = tickAt(c.schedule, c.now); c.tick == 0 {
		return nil, nil
	}
	if err := c.repeat(ctx, c.open); err != nil {
		return nil, err
	}
	claims := claimer.New(c.store, c.node)
	q := series.Claim{Key: c.key, Owner: claims.Owner(), Number: c.tick, After: max(0, c.schedule.PrevMilli(c.tick-1)), TTL: c.ttl,
		Deadline: noDeadline, Attempts: 1, Overlap: series.OverlapSkip, Revision: c.revision()}
	if err := wait.Sleep(ctx, time.Duration(c.tick-c.clock())*time.Millisecond); err != nil {
		return nil, err
	}
	for {
		a, err := c.send(ctx, claims, &q)
		if err != nil {
			return nil, err
		}
		pause := time.Duration(0)
		switch a.Kind {
		case series.KindGranted:
			return a, nil
		case series.KindEarly:
			pause = a.Wait
		case series.KindHeld: // by a run that was granted after this tick: the tick stays undecided
			pause = askAgain
		case series.KindGap:
			q.After, q.Between = a.Mark, c.schedule.Count(a.Mark, c.tick-1, mostMissed)
		case series.KindOrphan: // granted earlier and never started: its deadline has passed
			over := q
			over.Owner, over.Number, over.After, over.Between, over.From, over.Deadline = claims.Owner(), a.Number, a.Number-1, 0, a.Fence, 0
			if _, err := c.send(ctx, claims, &over); err != nil {
				return nil, err
			}
		case series.KindPassed:
			if a.State != series.RunUnstarted || a.Number != c.tick || q.From == a.Fence {
				return a, nil
			}
			q.Owner, q.From = claims.Owner(), a.Fence
		case series.KindAhead:
			return nil, fmt.Errorf("its ticks are decided until %s, in the future of the store's clock: see cronce doctor", stamp(a.Mark))
		case series.KindOver:
			return nil, fmt.Errorf("the tick of %s is lost: the store granted it, and no answer came before its lease was over", stamp(c.tick))
		default:
			return a, nil
		}
		if err := wait.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

var (
	errForgotten = errors.New("the store has forgotten the series")
	errExpired   = errors.New("the store read the request too late")
)

// send sends a claim until the store has answered it.
func (c *tickCall) send(ctx context.Context, claims *claimer.Claimer, q *series.Claim) (*claimer.Claimed, error) {
	var a claimer.Claimed
	err := c.repeat(ctx, func(ctx context.Context) error {
		q.Latest = c.clock() + askTime.Milliseconds()
		a = claims.Claim(ctx, []series.Claim{*q})[0]
		switch {
		case a.Err != nil:
			return a.Err
		case a.Kind == series.KindUnknown:
			return cmp.Or(c.open(ctx), errForgotten)
		case a.Kind == series.KindExpired:
			return cmp.Or(c.readClock(ctx), errExpired)
		}
		return nil
	})
	return &a, err
}

// open registers the series. A series that is new to the store begins right before the tick, so
// that this tick is its first one.
func (c *tickCall) open(ctx context.Context) error {
	o := series.OpenRequest{Key: c.key, Node: c.node, Revision: c.revision(), Spec: c.schedule.Text(), Zone: c.schedule.Zone().String(),
		Policies: policy.Record{Overlap: policy.Skip, Crontab: true}.String()}
	if c.tick <= c.now {
		o.Begin = c.tick - 1
	}
	return series.FrontOf(c.store).Open(ctx, []series.OpenRequest{o})[0].Err
}

func (c *tickCall) revision() string { return c.schedule.Revision(time.UnixMilli(c.now)) }

// readClock reads the store's clock, or in a Cluster the latest clock of its masters.
func (c *tickCall) readClock(ctx context.Context) error {
	readings, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	now := int64(math.MinInt64)
	for _, r := range readings {
		now = max(now, r.Time.UnixMilli())
	}
	c.now, c.read = now, time.Now()
	return nil
}

// clock returns the store's clock.
func (c *tickCall) clock() int64 { return c.now + time.Since(c.read).Milliseconds() }

// repeat repeats f while its error is doubt, for up to askFor or until ctx ends. The end of ctx does not end a request: the store may
// have granted it, and the run would count as alive until the end of its lease.
func (c *tickCall) repeat(ctx context.Context, f func(context.Context) error) error {
	for end := time.Now().Add(askFor); ; {
		bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		err := f(bounded)
		stop()
		_, argument := errors.AsType[*lock.ArgumentError](err)
		switch {
		case err == nil:
			return nil
		case argument, errors.Is(err, lock.ErrUnsupported), errors.Is(err, lock.ErrUnfit), c.refuses != nil && c.refuses(err), !time.Now().Before(end):
			return err
		}
		if wait.Sleep(ctx, askAgain) != nil {
			return err
		}
	}
}

// stamp formats Unix milliseconds.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
