package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/test/history"
)

// worked returns the history of a crowd that used a driver for a minute of a bubble.
func worked(t *testing.T, d driver.Driver, c history.Crowd) []history.Op {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c.Driver = func(int) driver.Driver { return d }
	return c.Run(ctx)
}

// The history of many clients of the store in memory has an explanation.
func TestMemory(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			ops := worked(t, new(memlock.Store), history.Crowd{Seed: seed})
			if len(ops) < 1000 {
				t.Errorf("only %d requests", len(ops))
			}
			seen(t, ops)
			if err := history.Check(ops, history.Limits{}); err != nil {
				t.Error(err)
			}
			if err := history.Exclusive(ops); err != nil {
				t.Error(err)
			}
		})
	}
}

// seen fails the test unless every kind of answer was among them.
func seen(t *testing.T, ops []history.Op) {
	t.Helper()
	type answer struct {
		kind    history.Kind
		outcome history.Outcome
	}
	count := map[answer]int{}
	for _, o := range ops {
		count[answer{o.Kind, o.Outcome}]++
	}
	for _, a := range []answer{{history.Acquire, history.OK}, {history.Acquire, history.Held}, {history.Renew, history.OK},
		{history.Renew, history.Lost}, {history.Release, history.OK}, {history.Release, history.Lost}} {
		if count[a] == 0 {
			t.Errorf("no request was answered %+v", a)
		}
	}
}

// With doubt in it, in which things may have been done, a history can still be
// explained.
func TestMemoryInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := worked(t, &doubtful{Driver: new(memlock.Store)}, history.Crowd{})
		if err := history.Check(ops, history.Limits{}); err != nil {
			t.Error(err)
		}
	})
}

// If a history has an explanation, so has its beginning up to any middle: a history that takes too long
// is judged by its first half.
func TestFirstHalfIsAHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := worked(t, &doubtful{Driver: new(memlock.Store)}, history.Crowd{})
		for len(ops) > 20 {
			half := history.FirstHalf(ops)
			if len(half) != len(ops)/2 {
				t.Fatalf("%d of %d requests", len(half), len(ops))
			}
			if err := history.Check(half, history.Limits{}); err != nil {
				t.Fatalf("%d requests: %v", len(half), err)
			}
			ops = half
		}
	})
}

// A doubtful driver loses every 20th answer, after it was done or before.
type doubtful struct {
	driver.Driver
	n atomic.Int64
}

var errLost = errors.New("the answer was lost")

func (d *doubtful) lose() (before, after bool) {
	n := d.n.Add(1)
	return n%40 == 20, n%40 == 0
}

func (d *doubtful) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	before, after := d.lose()
	if before {
		return driver.Grant{}, errLost
	}
	g, err := d.Driver.Acquire(ctx, a)
	if after {
		return driver.Grant{}, errLost
	}
	return g, err
}

func (d *doubtful) Release(ctx context.Context, h driver.LeaseRef) error {
	before, after := d.lose()
	if before {
		return errLost
	}
	err := d.Driver.Release(ctx, h)
	if after {
		return errLost
	}
	return err
}

// Each planted fault is found.
func TestPlantedAreFound(t *testing.T) {
	for _, p := range history.Planted {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d driver.Driver = new(memlock.Store)
				if p.Disturbed {
					d = &doubtful{Driver: d}
				}
				found(t, history.Check(worked(t, p.Into(d), history.Crowd{}), history.Limits{}))
			})
		})
	}
}

// A fault that makes two holders is found though no order of so many requests can be
// looked for in the time there is, and nothing is then said against a store in order.
func TestPlantedAreFoundWithoutTime(t *testing.T) {
	noTime := history.Limits{Patience: time.Nanosecond}
	for _, p := range append([]history.Plant{{Name: "none", Into: func(d driver.Driver) driver.Driver { return d }}}, history.Planted...) {
		if p.Disturbed {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			var ops []history.Op
			synctest.Test(t, func(t *testing.T) { ops = worked(t, p.Into(new(memlock.Store)), history.Crowd{}) })
			err := history.Check(ops, noTime) // outside of the bubble, whose time stands still
			if got, want := history.Refuted(err), p.Name != "none"; got != want {
				t.Errorf("refuted: %v, want %v: %v", got, want, err)
			}
		})
	}
}

// The weaker check finds two holders at a time, and fences that decrease.
func TestExclusiveFindsTwoHolders(t *testing.T) {
	for _, p := range history.Planted {
		if p.Disturbed {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := history.Exclusive(worked(t, p.Into(new(memlock.Store)), history.Crowd{}))
				_, two := errors.AsType[*history.OverlapError](err)
				_, fence := errors.AsType[*history.FenceError](err)
				if !two && !fence {
					t.Errorf("the fault was not found: %v", err)
				}
			})
		})
	}
}

// An owner that repeats a request after an unknown reply holds the lease that the first request may
// have got, for no longer. No other owner may be granted the key before that lease ends.
func TestExclusiveAfterDoubt(t *testing.T) {
	ms := int64(time.Millisecond)
	ops := func(second int64) []history.Op {
		op := history.Op{Kind: history.Acquire, Key: "k", TTL: time.Second}
		doubt, again, other := op, op, op
		doubt.Owner, doubt.Call, doubt.Return, doubt.Outcome = "a", 0, 600*ms, history.Unknown
		again.Owner, again.Call, again.Return, again.Outcome, again.Granted = "a", 700*ms, 701*ms, history.OK, 1
		other.Owner, other.Call, other.Return, other.Outcome, other.Granted = "b", second*ms, (second+1)*ms, history.OK, 2
		return []history.Op{doubt, again, other}
	}
	if err := history.Exclusive(ops(1050)); err != nil {
		t.Errorf("after the lease that was in doubt: %v", err)
	}
	if err := history.Exclusive(ops(900)); err == nil {
		t.Error("a grant within the lease that was in doubt was not found")
	}
}

// A majority undoes an acquisition with an unknown outcome, as does a driver if too few replicas have it.
// A single store never does so by itself. Nothing may undo a lease that its client was granted when it
// repeated the request.
func TestUndone(t *testing.T) {
	at := func(ms int64, owner string, fence int64, outcome history.Outcome) history.Op {
		call := ms * int64(time.Millisecond)
		return history.Op{ID: int(ms), Kind: history.Acquire, Key: "k", Owner: owner, TTL: time.Second, Granted: fence,
			Outcome: outcome, Call: call, Return: call + int64(time.Millisecond)}
	}
	undone := []history.Op{at(1, "a", 0, history.Unknown), at(10, "b", 0, history.Held), at(20, "c", 1, history.OK), at(30, "a", 0, history.Held)}
	undoes := func(owner string) func(*history.Op) bool { return func(o *history.Op) bool { return o.Owner == owner } }
	for _, l := range []history.Limits{{}, {Undoes: undoes("b")}} {
		if err := history.Check(undone, l); !history.Refuted(err) {
			t.Errorf("one store cannot have answered that: %v", err)
		}
	}
	granted := []history.Op{at(1, "a", 0, history.Unknown), at(10, "b", 0, history.Held), at(20, "a", 1, history.OK), at(30, "c", 2, history.OK)}
	for _, l := range []history.Limits{{Votes: true}, {Undoes: undoes("a")}} {
		if err := history.Check(undone, l); err != nil {
			t.Errorf("votes %v: a store can have answered that: %v", l.Votes, err)
		}
		if err := history.Check(granted, l); !history.Refuted(err) {
			t.Errorf("votes %v: no store can have answered that: %v", l.Votes, err)
		}
	}
}

// A majority may report a lease as over to the client that releases it, while other clients have too
// few votes to hold the key. A single store with a free key may not.
func TestVotesOfOthersRefuse(t *testing.T) {
	ops := []history.Op{{Kind: history.Release, Key: "k", Owner: "a", Fence: 1, TTL: time.Second, Return: 1, Outcome: history.Lost}}
	if err := history.Check(ops, history.Limits{}); !history.Refuted(err) {
		t.Errorf("one store cannot have answered that: %v", err)
	}
	if err := history.Check(ops, history.Limits{Votes: true}); err != nil {
		t.Errorf("a majority can have answered that: %v", err)
	}
}

// A release is answered with Forgotten only while the key is free.
func TestForgottenIsFree(t *testing.T) {
	release := history.Op{ID: 2, Kind: history.Release, Key: "k", Owner: "a", Fence: 1, TTL: time.Second, Call: 3, Return: 4, Outcome: history.Forgotten}
	for _, owner := range []string{"a", "b"} { // the asker, and another
		held := history.Op{ID: 1, Kind: history.Acquire, Key: "k", Owner: owner, TTL: time.Second, Call: 1, Return: 2, Outcome: history.OK, Granted: 1}
		if err := history.Check([]history.Op{held, release}, history.Limits{}); !history.Refuted(err) {
			t.Errorf("a store in which %s has the key cannot have answered that: %v", owner, err)
		}
	}
	if err := history.Check([]history.Op{release}, history.Limits{}); err != nil {
		t.Errorf("a store in which the key is free can have answered that: %v", err)
	}
}

// The repetition of a release whose reply was lost may be answered with success while another owner has
// the key: the first one freed it. A release that was never sent before may not.
func TestRepeatedRelease(t *testing.T) {
	op := func(o history.Op, call int64) history.Op {
		o.ID, o.Key, o.TTL, o.Call, o.Return = int(call), "k", time.Second, call, call+1
		return o
	}
	first := op(history.Op{Kind: history.Acquire, Owner: "a", Outcome: history.OK, Granted: 1}, 1)
	lost := op(history.Op{Kind: history.Release, Owner: "a", Fence: 1}, 3)
	second := op(history.Op{Kind: history.Acquire, Owner: "b", Outcome: history.OK, Granted: 2}, 5)
	again := op(history.Op{Kind: history.Release, Owner: "a", Fence: 1, Outcome: history.OK}, 7)
	if err := history.Check([]history.Op{first, lost, second, again}, history.Limits{}); err != nil {
		t.Errorf("a store that knows of its first release can have answered that: %v", err)
	}
	other := again
	other.Owner = "c"
	if err := history.Check([]history.Op{first, lost, second, other}, history.Limits{}); !history.Refuted(err) {
		t.Errorf("no store can have answered that to an owner that never had the key: %v", err)
	}
	renewed := op(history.Op{Kind: history.Renew, Owner: "b", Fence: 2, Outcome: history.OK}, 9)
	twice := op(history.Op{Kind: history.Release, Owner: "b", Fence: 2, Outcome: history.OK}, 11)
	if err := history.Check([]history.Op{first, lost, second, again, renewed, twice}, history.Limits{}); err != nil {
		t.Errorf("the repetition changes nothing: %v", err)
	}
}

// Many repetitions of lost releases in one history are no more work for the checker than other requests: it forgets a
// release once its owner repeats it no more.
func TestManyRepeatedReleases(t *testing.T) {
	at := int64(0)
	var ops []history.Op
	add := func(o history.Op) {
		at += int64(time.Second)
		o.ID, o.Key, o.TTL, o.Call, o.Return = len(ops), "k", time.Minute, at, at+1
		ops = append(ops, o)
	}
	for i := range 100 {
		owner, fence := fmt.Sprint("o", i), int64(i+1)
		add(history.Op{Kind: history.Acquire, Owner: owner, Outcome: history.OK, Granted: fence})
		add(history.Op{Kind: history.Release, Owner: owner, Fence: fence})
		add(history.Op{Kind: history.Release, Owner: owner, Fence: fence, Outcome: history.OK})
	}
	if err := history.Check(ops, history.Limits{}); err != nil {
		t.Error(err)
	}
}

func found(t *testing.T, err error) {
	t.Helper()
	if !history.Refuted(err) {
		t.Errorf("the fault was not found: %v", err)
	}
}

// A history comes whole from another process.
func TestWriteAndRead(t *testing.T) {
	ops := []history.Op{{Client: 1, ID: 2, Kind: history.Renew, Key: "k", Owner: "o", TTL: time.Second, Fence: 3, Call: 4, Return: 5, Outcome: history.Lost}}
	var b bytes.Buffer
	if err := history.Write(&b, ops); err != nil {
		t.Fatal(err)
	}
	if got, err := history.Read(&b); err != nil || !reflect.DeepEqual(got, ops) {
		t.Errorf("read %+v, %v", got, err)
	}
}
