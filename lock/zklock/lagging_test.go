package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// lasting is a session that outlives every election.
var lasting = zklock.Options{Session: time.Minute}

// brief is a session with a short timeout.
var brief = zklock.Options{Session: 4 * time.Second}

// A laggard is a follower whose connection to its leader can be blocked.
type laggard struct {
	*zkserver.Server
	leader *zkserver.Server
	link   *valve
}

// newLaggard starts an ensemble that tolerates a slow follower.
func newLaggard(t *testing.T) *laggard {
	t.Helper()
	var links [3][3]*valve
	e := zkserver.StartEnsembleOver(t, func(from, to int, addr string) string {
		links[from][to] = newValve(t, addr)
		return links[from][to].Addr().String()
	}, "syncLimit=100")
	leader := e.Leader()
	follower := e.Others(leader)[0]
	link := links[slices.Index(e.Servers, follower)][slices.Index(e.Servers, leader)]
	return &laggard{Server: follower, leader: leader, link: link}
}

// lags blocks the connection to the leader. The follower continues to serve with the data that it
// has.
func (l *laggard) lags() {
	l.link.up.Store(true)
	l.link.down.Store(true)
}

// catchesUp opens the connection again, and the follower receives what it has missed.
func (l *laggard) catchesUp() {
	l.link.up.Store(false)
	l.link.down.Store(false)
}

// A client's server lags behind. It shows holders that have left, and not the holders that have
// come, and does not report that it lags. Requests to it are then doubt, never a refusal, a grant
// or a release by the data that it shows.
func TestLaggingFollower(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near, far := newDriver(t, at.leader.Addr(), lasting), newDriver(t, at.Addr(), lasting)
	left := hold(t, lock.New(near, "a"), "left")
	must(t, hold(t, lock.New(near, "a"), "came").Release(t.Context())) // creates the parent
	came := driver.Acquisition{Key: "came", Owner: "a/1", TTL: time.Minute}
	var g driver.Grant
	questions := []struct {
		about string
		ask   func(context.Context, *zklock.Driver) error
		from  *zklock.Driver // a driver that has no other request on its way
	}{
		{about: "a key that was released", ask: func(ctx context.Context, d *zklock.Driver) error {
			_, err := d.Acquire(ctx, driver.Acquisition{Key: "left", Owner: "b/1", TTL: time.Second})
			return err
		}},
		{about: "a key that was taken", ask: func(ctx context.Context, d *zklock.Driver) error {
			_, err := d.Acquire(ctx, driver.Acquisition{Key: "came", Owner: "b/1", TTL: time.Second})
			return err
		}},
		{about: "the release of what was taken", ask: func(ctx context.Context, d *zklock.Driver) error {
			return d.Release(ctx, holding(came, g))
		}},
	}
	for i := range questions {
		questions[i].from = newDriver(t, at.Addr(), lasting)
		now(t, questions[i].from) // so that no write is needed for it later
		queuedBehind(t, questions[i].from, "came", 0)
	}
	rig.Eventually(t, "the follower shows the holder", func() bool {
		hs, err := far.Holders(t.Context(), "left")
		return err == nil && len(hs) == 1
	})

	at.lags()
	must(t, left.Release(t.Context()))
	g, err := near.Acquire(t.Context(), came)
	must(t, err)
	for _, q := range questions {
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if err := q.ask(ctx, q.from); isHeld(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want doubt", q.about, err)
		}
		stop()
	}
	if hs, err := far.Holders(t.Context(), "left"); err != nil || len(hs) != 1 {
		t.Fatalf("the follower does not lag behind: %v, %v", hs, err)
	}
	at.catchesUp()
	must(t, far.Release(t.Context(), holding(came, g)))
	for _, key := range []string{"left", "came"} {
		g := rig.Soon(t, await(t, lock.New(far, "c"), key))
		must(t, g.err)
	}
}

// A request was in doubt, and its place is behind a holder. When its owner repeats the request on a
// server that lags behind and still shows that holder, the key is the owner's.
func TestAskingAgainBehindALaggingFollower(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near, far := newDriver(t, at.leader.Addr(), lasting), newDriver(t, at.Addr(), lasting)
	must(t, hold(t, lock.New(near, "a"), "k").Release(t.Context())) // creates the parent
	now(t, far)
	ask := driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute}
	rig.Eventually(t, "the follower shows nobody", func() bool {
		hs, err := far.Holders(t.Context(), "k")
		return err == nil && len(hs) == 0
	})

	at.lags()
	first := hold(t, lock.New(near, "a"), "k")
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if _, err := far.Acquire(ctx, ask); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want doubt", err)
	}
	at.catchesUp()
	queuedBehind(t, far, "k", 1)

	at.lags()
	must(t, first.Release(t.Context()))
	answered := make(chan error, 1)
	go func() {
		_, err := far.Acquire(t.Context(), ask)
		answered <- err
	}()
	<-time.After(300 * time.Millisecond) // the request has read the queue by then; otherwise the test proves less
	at.catchesUp()
	must(t, rig.Soon(t, answered))
}

// The leader ends the session of a holder whose server lags behind and therefore does not report
// it: the server answers the client's pings, and shows the client its node. The holder was notified
// before the next owner was granted the key.
func TestSessionEndsBehindALaggingFollower(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near, far := newDriver(t, at.leader.Addr(), lasting), newDriver(t, at.Addr(), brief)
	renewed := rig.StartTenure(t, newDriver(t, at.Addr(), brief), near, "renewed", lock.Options{})
	fixed := lock.Options{TTL: time.Minute, Fixed: true} // a renewal in vain would delay the pings
	held := rig.StartTenure(t, far, near, "held", fixed)
	waits, giveUp := context.WithCancel(t.Context())
	waiter := make(chan error, 1)
	go func() {
		_, err := far.Wait(waits, driver.Acquisition{Key: "held", Owner: "c/1", TTL: time.Minute})
		waiter <- err
	}()
	queuedBehind(t, near, "held", 2)
	session := far.SessionID()
	at.lags()
	held.Passes(t)
	renewed.Passes(t)
	hs, err := far.Holders(t.Context(), "held")
	must(t, err)
	if len(hs) != 1 || hs[0].Fence != held.Lease.Fence() || far.SessionID() != session {
		t.Errorf("the follower shows the holders %+v in session %x after %x: it does not lag behind", hs, far.SessionID(), session)
	}
	select {
	case err := <-waiter:
		t.Errorf("who waits there is answered: %v", err)
	default:
	}
	at.catchesUp()
	rig.Eventually(t, "another session", func() bool { return far.SessionID() != session })
	giveUp()
	<-waiter
}

// This case is not covered by the promise. A follower and its leader receive nothing from each
// other for longer than half of a session, but not long enough to separate. Then, for a moment, the
// follower receives its leader's messages, and nothing reaches the leader. A client is granted a
// key by these messages and trusts the grant, but the leader ends its session, since it has
// received nothing from it. The next owner is granted the key meanwhile, with a higher fence.
func TestSessionEndsAfterAnAnswer(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near := newDriver(t, at.leader.Addr(), lasting)
	for range 5 { // a loaded machine may be too late
		if at.grantsTwice(t, near, newDriver(t, at.Addr(), brief)) {
			return
		}
	}
	t.Error("nobody was granted what another believes in: the package promises more than it says")
}

// grantsTwice reports whether near was granted a key while far trusted that it held it.
func (l *laggard) grantsTwice(t *testing.T, near, far *zklock.Driver) bool {
	t.Helper()
	defer l.catchesUp()
	for _, d := range []*zklock.Driver{near, far} {
		must(t, hold(t, lock.New(d, "w"), "k").Release(t.Context()))
	}
	<-time.After(zkserver.Tick) // the leader learns about the session
	begin := time.Now()
	l.link.down.Store(true)
	<-time.After(time.Until(begin.Add(brief.Session * 4 / 5)))
	type answer struct {
		driver.Grant
		err error
	}
	answered := make(chan answer, 1)
	ctx, stop := context.WithTimeout(t.Context(), 2*brief.Session)
	defer stop()
	go func() {
		g, err := far.Acquire(ctx, driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute})
		answered <- answer{g, err}
	}()
	rig.Eventually(t, "the leader has done it", func() bool {
		hs, err := near.Holders(t.Context(), "k")
		return err == nil && (len(hs) == 1 || len(answered) > 0 || time.Since(begin) > brief.Session)
	})
	l.link.up.Store(true)
	l.link.down.Store(false)
	first := rig.Soon(t, answered)
	if first.err != nil {
		return false
	}
	second := rig.Soon(t, await(t, lock.New(near, "b"), "k"))
	must(t, second.err)
	if second.lease.Fence() <= first.Fence {
		t.Errorf("the fence is %d after %d", second.lease.Fence(), first.Fence)
	}
	must(t, second.lease.Release(t.Context()))
	return second.at.Before(first.Asked.Add(first.Left))
}
