package zookeeper_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/test/history"
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

// The leader is killed under traffic, and so is the next one. Sessions and leases live on with the
// one after. Requests in the meantime are doubt, and the answers to the clients are answers that
// one correct store could have given. A holder whose network goes silent at that moment knows of
// its end before another owner is granted its key.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	e := zkserver.StartEnsemble(t)
	ds := make([]*zklock.Driver, 4)
	for i := range ds {
		ds[i] = newDriver(t, e.Addrs(), lasting)
	}
	ways, through := make([]*rig.Proxy, len(e.Servers)), make([]string, len(e.Servers))
	for i, s := range e.Servers {
		ways[i] = rig.NewProxy(t, s.Addr())
		through[i] = ways[i].Addr()
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // a new ensemble on a busy machine writes its first nodes
	defer stop()
	kept, err := lock.New(newDriver(t, e.Addrs(), lasting), "a").Acquire(ctx, "kept", lock.Options{})
	must(t, err)
	w := work(t, ds...)
	w.goesOn(t, 20)
	cut := rig.StartTenure(t, newDriver(t, through, brief), ds[0], "cut", lock.Options{})
	for _, way := range ways {
		way.Set(rig.Faults{Hole: true})
	}
	for range 2 {
		leader := e.Leader()
		leader.Kill()
		e.Leader()
		w.goesOn(t, 20)
		leader.Restart()
		e.Whole()
	}
	cut.Passes(t)
	for i, way := range ways {
		way.Retarget(e.Servers[i].Addr()) // resets the connections, so that the session, which has ended, can be closed
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
	there, here := newDriver(t, []string{old.Addr()}, lasting), newDriver(t, others, lasting)
	w := work(t, there, here, newDriver(t, others, lasting), newDriver(t, []string{old.Addr()}, lasting))
	w.goesOn(t, 20)
	at := rig.StartTenure(t, newDriver(t, []string{old.Addr()}, brief), here, "held", lock.Options{})

	old.Freeze()
	late := make(chan error, 1)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	go func() {
		_, err := there.Acquire(ctx, driver.Acquisition{Key: "late", Owner: "late/1", TTL: time.Minute})
		late <- err
	}()
	e.Leader(old)
	w.goesOn(t, 20)
	at.Passes(t)
	var second *lock.Lease
	rig.Eventually(t, "a grant by the new leader", func() bool {
		var err error
		second, err = lock.New(here, "b").TryAcquire(t.Context(), "late", lock.Options{})
		return err == nil
	})
	old.Thaw()
	if err := <-late; err == nil {
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
		ds[i] = newDriver(t, e.Addrs(), lasting)
	}
	holder := newDriver(t, e.Addrs(), brief)
	w := work(t, ds...)
	w.goesOn(t, 20)
	at := rig.StartTenure(t, holder, ds[0], "held", short)
	last := e.Leader()
	must(t, at.Lease.Check())
	for _, s := range e.Others(last) {
		s.Kill()
	}
	begin := time.Now()
	if was := rig.Soon(t, at.Ended); was.Sub(begin) > brief.Session/2+meter.Starved(begin, time.Now()) {
		t.Errorf("the lease was believed in for %v without a majority", was.Sub(begin))
	} else {
		at.Ended <- was
	}
	rig.Eventually(t, "the last one serves nobody", func() bool { return last.Mode() == "" })
	elsewhere := lasting
	elsewhere.Namespace = "elsewhere" // requests in doubt there disturb no test here
	vain := work(t, newDriver(t, e.Addrs(), elsewhere), newDriver(t, e.Addrs(), elsewhere))
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
	case g := <-at.Next:
		t.Errorf("granted without a majority: %v", g.Err)
	default:
	}

	e.Others(last)[0].Restart()
	e.Leader()
	w.goesOn(t, 20)
	at.Passes(t)
	judged(t, w.saw())
}
