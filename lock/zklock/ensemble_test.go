package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/history"
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

// short is a lease whose node is removed soon after the lease ends, even if its session lives on.
var short = lock.Options{TTL: 4 * time.Second}

func addrs(servers ...*zkserver.Server) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.Addr()
	}
	return all
}

// A tenure is a lease for which another owner waits.
type tenure struct {
	lease *lock.Lease
	ended chan time.Time
	next  <-chan granted
}

// tenured makes one driver hold a key and another one wait for it.
func tenured(t *testing.T, holder, other *zklock.Driver, key string, o lock.Options) *tenure {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	lease, err := lock.New(holder, "a").Acquire(ctx, key, o)
	must(t, err)
	at := &tenure{lease: lease, ended: make(chan time.Time, 1)}
	context.AfterFunc(at.lease.Context(), func() { at.ended <- time.Now() })
	at.next = await(t, lock.New(other, "b"), key)
	queuedBehind(t, other, key, 1)
	return at
}

// passes waits for the next grant: the holder was notified of its end before it, and the fence
// grows.
func (at *tenure) passes(t *testing.T) {
	t.Helper()
	g := rig.Soon(t, at.next)
	must(t, g.err)
	select {
	case was := <-at.ended:
		if !was.Before(g.at) {
			t.Errorf("the lease ended %v after the next was granted", was.Sub(g.at))
		}
	case <-time.After(2 * time.Minute):
		t.Error("the lease has not ended though the next was granted")
	}
	if cause := context.Cause(at.lease.Context()); !errors.Is(cause, lock.ErrLost) {
		t.Errorf("the lease was ended by %v", cause)
	}
	if g.lease.Fence() <= at.lease.Fence() {
		t.Errorf("the fence is %d after %d", g.lease.Fence(), at.lease.Fence())
	}
	must(t, g.lease.Release(t.Context()))
}

// The leader is killed under traffic, and so is the next one. Sessions and leases live on with the
// one after. Requests in the meantime are doubt, and the answers to the clients are answers that
// one correct store could have given. A holder whose network goes silent at that moment knows of
// its end before another owner is granted its key.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	e := zkserver.StartEnsemble(t)
	ds := make([]*zklock.Driver, 4)
	for i := range ds {
		ds[i] = driverOf(t, e.Addrs(), lasting)
	}
	var ways []*proxy
	var through []string
	for _, s := range e.Servers {
		way := newProxy(t, s.Addr())
		ways, through = append(ways, way), append(through, way.addr())
	}
	kept := hold(t, lock.New(driverOf(t, e.Addrs(), lasting), "a"), "kept")
	w := work(t, ds...)
	w.goesOn(t, 20)
	cut := tenured(t, driverOf(t, through, brief), ds[0], "cut", lock.Options{})
	for _, way := range ways {
		way.silent.Store(true)
	}
	for range 2 {
		leader := e.Leader()
		leader.Kill()
		e.Leader()
		w.goesOn(t, 20)
		leader.Restart()
		e.Whole()
	}
	cut.passes(t)
	for _, way := range ways {
		way.sever() // so that the session, which has ended, can be closed
	}
	judged(t, w.saw())
	must(t, kept.Check())
	must(t, kept.Release(t.Context()))
}

// The leader is stopped under traffic until the others have a new one, and then continues. It does
// not grant requests that it received meanwhile: another owner has the key by then. The holder of a
// key whose session ended knows of the end before the next owner is granted the key.
//
// A leader that continues refuses, for a moment, by the state from before it was stopped. So this
// test does not judge refusals.
func TestLeaderIsStopped(t *testing.T) {
	t.Parallel()
	e := zkserver.StartEnsemble(t)
	old := e.Leader()
	others := addrs(e.Others(old)...)
	there, here := newDriver(t, old.Addr(), lasting), driverOf(t, others, lasting)
	w := work(t, there, here, driverOf(t, others, lasting), newDriver(t, old.Addr(), lasting))
	w.goesOn(t, 20)
	at := tenured(t, newDriver(t, old.Addr(), brief), here, "held", lock.Options{})

	old.Freeze()
	late := make(chan granted, 1)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	go func() {
		_, err := there.Acquire(ctx, driver.Acquisition{Key: "late", Owner: "late/1", TTL: time.Minute})
		late <- granted{err: err}
	}()
	e.Leader(old)
	w.goesOn(t, 20)
	at.passes(t)
	var second *lock.Lease
	eventually(t, "a grant by the new leader", func() bool {
		var err error
		second, err = lock.New(here, "b").TryAcquire(t.Context(), "late", lock.Options{})
		return err == nil
	})
	old.Thaw()
	if g := <-late; g.err == nil {
		t.Errorf("the old leader granted what another has")
	}
	e.Whole()
	must(t, second.Check())
	must(t, second.Release(t.Context()))
	w.goesOn(t, 20)
	judged(t, slices.DeleteFunc(w.saw(), func(o history.Op) bool { return o.Outcome == history.Held }))
}

// Two of three servers are killed. Until one of them is back, every answer is doubt or loss, and
// comes in time. Holders are notified before their sessions can have ended; then everything
// continues.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	e, meter := zkserver.StartEnsemble(t), rig.NewMeter(t)
	ds := make([]*zklock.Driver, 4)
	for i := range ds {
		ds[i] = driverOf(t, e.Addrs(), lasting)
	}
	holder := driverOf(t, e.Addrs(), brief)
	w := work(t, ds...)
	w.goesOn(t, 20)
	at := tenured(t, holder, ds[0], "held", short)
	last := e.Leader()
	must(t, at.lease.Check())
	for _, s := range e.Others(last) {
		s.Kill()
	}
	begin := time.Now()
	if was := rig.Soon(t, at.ended); was.Sub(begin) > brief.Session/2+meter.Starved(begin, time.Now()) {
		t.Errorf("the lease was believed in for %v without a majority", was.Sub(begin))
	} else {
		at.ended <- was
	}
	eventually(t, "the last one serves nobody", func() bool { return last.Mode() == "" })
	elsewhere := lasting
	elsewhere.Namespace = fresh() // requests in doubt there disturb no test here
	vain := work(t, driverOf(t, e.Addrs(), elsewhere), driverOf(t, e.Addrs(), elsewhere))
	<-time.After(3 * time.Second)
	for _, o := range vain.saw() {
		if o.Outcome != history.Unknown && o.Outcome != history.Lost {
			t.Errorf("without a majority: %v", &o)
		}
		if took := time.Duration(o.Return - o.Call); took > 10*time.Second+meter.Starved(begin, time.Now()) {
			t.Errorf("%v took %v", &o, took)
		}
	}
	select {
	case g := <-at.next:
		t.Errorf("granted without a majority: %v", g.err)
	default:
	}

	e.Others(last)[0].Restart()
	e.Leader()
	w.goesOn(t, 20)
	at.passes(t)
	judged(t, w.saw())
}
