package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/zklock"
)

// A laggard is a server that follows, and can be kept from hearing of its leader.
type laggard struct {
	*zkserver.Server
	leader *zkserver.Server
	link   *proof.Proxy // what it hears of its leader by
}

// newLaggard starts an ensemble that has patience with a follower.
func newLaggard(t *testing.T) *laggard {
	t.Helper()
	var links [3][3]*proof.Proxy
	e := zkserver.StartEnsembleOver(t, func(from, to int, addr string) string {
		links[from][to] = proof.NewProxy(t, addr)
		return links[from][to].Addr()
	}, "syncLimit=100")
	leader := e.Leader()
	follower := e.Others(leader)[0]
	link := links[slices.Index(e.Servers, follower)][slices.Index(e.Servers, leader)]
	return &laggard{Server: follower, leader: leader, link: link}
}

// lags keeps the news from the follower. It serves on by what it knows.
func (l *laggard) lags() { l.link.Set(proof.Faults{Hole: true}) }

// catchesUp lets the follower hear what it has missed.
func (l *laggard) catchesUp() { l.link.Set(proof.Faults{}) }

// A client's server lags behind. It shows holders who have left, and none who have
// come, and says nothing of it: what is asked of it then is doubt, never a refusal,
// a grant or a release by what it shows.
func TestLaggingFollower(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near, far := driver(t, at.leader.Addr(), lasting), driver(t, at.Addr(), lasting)
	left := hold(t, lock.New(near, "a"), "left")
	must(t, hold(t, lock.New(near, "a"), "came").Release(t.Context())) // makes the parent
	came := lock.Acquisition{Key: "came", Owner: "a/1", TTL: time.Minute}
	var g lock.Grant
	questions := []struct {
		about string
		ask   func(context.Context, *zklock.Driver) error
		from  *zklock.Driver // has no other one on the way
	}{
		{about: "a key that was released", ask: func(ctx context.Context, d *zklock.Driver) error {
			_, err := d.Acquire(ctx, lock.Acquisition{Key: "left", Owner: "b/1", TTL: time.Second})
			return err
		}},
		{about: "a key that was taken", ask: func(ctx context.Context, d *zklock.Driver) error {
			_, err := d.Acquire(ctx, lock.Acquisition{Key: "came", Owner: "b/1", TTL: time.Second})
			return err
		}},
		{about: "the release of what was taken", ask: func(ctx context.Context, d *zklock.Driver) error {
			return d.Release(ctx, holding(came, g))
		}},
	}
	for i := range questions {
		questions[i].from = driver(t, at.Addr(), lasting)
		now(t, questions[i].from) // needs no write for that later
		queuedBehind(t, questions[i].from, "came", 0)
	}
	eventually(t, "the follower shows the holder", func() bool {
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
		g := <-await(t, lock.New(far, "c"), key)
		must(t, g.err)
	}
}

// The leader ends the session of a holder whose server lags behind, and does not
// tell it so: the server answers the client's pings, and shows it its node. The
// holder was told before the next was granted the key.
func TestSessionEndsBehindALaggingFollower(t *testing.T) {
	t.Parallel()
	at := newLaggard(t)
	near, far := driver(t, at.leader.Addr(), lasting), driver(t, at.Addr(), brief)
	renewed := tenured(t, driver(t, at.Addr(), brief), near, "renewed", lock.Options{})
	fixed := lock.Options{TTL: time.Minute, Fixed: true} // a renewal in vain would hold up the pings
	held := tenured(t, far, near, "held", fixed)
	waits, giveUp := context.WithCancel(t.Context())
	waiter := make(chan error, 1)
	go func() {
		_, err := far.Wait(waits, lock.Acquisition{Key: "held", Owner: "c/1", TTL: time.Minute})
		waiter <- err
	}()
	queuedBehind(t, near, "held", 2)
	session := far.SessionID()
	at.lags()
	held.passes(t)
	renewed.passes(t)
	hs, err := far.Holders(t.Context(), "held")
	must(t, err)
	if len(hs) != 1 || hs[0].Fence != held.lease.Fence() || far.SessionID() != session {
		t.Errorf("the follower shows the holders %+v in session %x after %x: it does not lag behind", hs, far.SessionID(), session)
	}
	select {
	case err := <-waiter:
		t.Errorf("who waits there is answered: %v", err)
	default:
	}
	at.catchesUp()
	eventually(t, "another session", func() bool { return far.SessionID() != session })
	giveUp()
	<-waiter
}
