// Package locktest is the contract that every store of package lock must keep.
//
// A store's own test calls [Run] with an [Env] that opens fresh, empty stores and lets time pass on
// them. There is a part for each capability. The parts for capabilities that a driver does not have
// are not run, and the test log names them.
package locktest

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// An Env gives the suite access to a store.
type Env struct {
	// Open returns a driver on a fresh, empty namespace, with the default limits of its journal. If
	// the driver must be closed, Open does so with t.Cleanup.
	Open func(t *testing.T) driver.Driver
	// In runs a test: synctest.Test for a store in memory, otherwise a direct call, as if nil.
	In func(t *testing.T, f func(t *testing.T))
	// Wait returns when at least d has passed on the clock of the store opened last, which also
	// counts for its expiries. A bubble sleeps; a simulated server is moved; on a real server Wait
	// reads the clock until enough time has passed.
	Wait func(d time.Duration)
	// SetClock sets the clock of the store opened last. Set it only if nothing but Wait and
	// SetClock moves that clock: then times are compared exactly. Nil: the clock runs by itself,
	// and tests that need it to jump are not run.
	SetClock func(now time.Time)
	// Forget deletes all data of the store opened last, as FLUSHALL does. Nil: tests that need it
	// are not run.
	Forget func()
	// Abandon takes a place for an owner in the store opened last, like a process that dies right
	// after that. The key is held, so the error is a *lock.HeldError. Nil: tests that need it are
	// not run.
	Abandon func(a driver.Acquisition) error
	// Spoil replaces a plain key's lease, in the store opened last, by data that the store cannot
	// read. Nil: tests that need it are not run.
	Spoil func(key string)
	// Only selects the parts to run, by their names: the parts of one store may be divided among
	// tests that run concurrently. Nil: all parts.
	Only func(part string) bool
	// Rounds is the number of random sequences in which the store is compared with the rules. Zero:
	// 300 if there is a SetClock, otherwise 3.
	Rounds int
}

// exact reports whether the store's clock stands still unless it is moved.
func (e *Env) exact() bool { return e.SetClock != nil }

// Run checks the driver that env opens against the contract, with one subtest per rule.
func Run(t *testing.T, env Env) {
	if env.In == nil {
		env.In = func(t *testing.T, f func(t *testing.T)) { f(t) }
	}
	var d driver.Driver
	env.In(t, func(t *testing.T) { d = env.Open(t) }) // outside of a subtest: needed for each selection of -run
	for _, p := range parts {
		if env.Only != nil && !env.Only(p.name) {
			continue
		}
		if missing := p.missing(d, &env); missing != "" {
			t.Logf("not run: the part %q, because there is no %s", p.name, missing)
			continue
		}
		t.Run(p.name, func(t *testing.T) { p.run(t, env) })
	}
}

// A part holds the tests of one capability.
type part struct {
	name  string
	needs need
	tests []test
}

// A test checks one rule, named by a sentence.
type test struct {
	name string
	do   func(s *fixture)
}

// A need is a requirement of a part on the driver and on the Env.
type need uint32

const (
	needNumbered need = 1 << iota
	needJournal
	needClock
	needMembership
	needSetClock
	needForget
	needWaiter
	needInspector
	needAbandon
	needSharer
	needSeveral
	needPeeker
	needForcer
	needRenewer
	needOutputs
	needChanges
	needSharder
	needGroups
)

var parts = []part{
	{"plain leases", 0, plainTests},
	{"plain fences", 0, plainFenceTests},
	{"waiting", needWaiter | needInspector, waitTests},
	{"waiters that die", needWaiter | needInspector | needAbandon, abandonTests},
	{"sharing", needSharer, sharingTests},
	{"sharing and waiting", needSharer | needWaiter | needInspector, sharingWaitTests},
	{"sharing with waiters that die", needSharer | needWaiter | needInspector | needAbandon, sharingAbandonTests},
	{"sharing with waiters that fall silent", needSharer | needWaiter | needInspector | needAbandon, sharingSilentTests},
	{"several keys", needSeveral, severalTests},
	{"renewals of several", needRenewer, renewalTests},
	{"looking", needInspector, inspectTests},
	{"forced unlocks", needForcer, forceTests},
	{"openings", needNumbered, openingTests},
	{"claims", needNumbered, claimTests},
	{"exact instants", needNumbered | needSetClock, instantTests},
	{"peeks", needNumbered | needPeeker, peekTests},
	{"groups", needGroups, groupTests},
	{"runs", needNumbered, runTests},
	{"queues", needNumbered, queueTests},
	{"pauses", needNumbered, pauseTests},
	{"cancels", needNumbered, cancelTests},
	{"manual runs", needNumbered, manualTests},
	{"backfills", needNumbered, backfillTests},
	{"control", needNumbered, controlTests},
	{"shards", needNumbered | needSharder, slices.Concat(shardTests, shardEndTests, broadcastTests)},
	{"fences", needNumbered, fenceTests},
	{"asked again", needNumbered, againTests},
	{"batches", needNumbered, batchTests},
	{"the rules", needNumbered, modelTests},
	{"arguments", needNumbered, argumentTests},
	{"names", needNumbered, nameTests},
	{"journal", needNumbered | needJournal, journalTests},
	{"exceptions", needNumbered | needJournal, exceptionTests},
	{"causes in the journal", needNumbered | needJournal, causeTests},
	{"outputs", needNumbered | needOutputs, outputTests},
	{"changes", needNumbered | needChanges, changeTests},
	{"changes and losses", needNumbered | needChanges | needForget, changeLossTests},
	{"changes and clock steps", needNumbered | needChanges | needSetClock, changeClockTests},
	{"clock", needClock, clockTests},
	{"clock steps", needNumbered | needSetClock, clockStepTests},
	{"nodes", needMembership, memberTests},
	{"forgetting", needNumbered | needForget, forgetTests},
}

func (p *part) run(t *testing.T, env Env) {
	for _, c := range p.tests {
		t.Run(c.name, func(t *testing.T) {
			env.In(t, func(t *testing.T) { c.do(newFixture(t, env)) })
		})
	}
}

func (p *part) missing(d driver.Driver, env *Env) string {
	_, waiter := d.(driver.Waiter)
	_, inspector := d.(driver.Inspector)
	_, sharer := d.(driver.Sharer)
	_, several := d.(driver.MultiAcquirer)
	_, numbered := d.(interface {
		series.Numbered
		series.Controlled
	})
	_, journaled := d.(series.Journaled)
	_, renewer := d.(driver.MultiRenewer)
	_, clocked := d.(driver.Clocked)
	_, membership := d.(series.Membership)
	_, outputs := d.(series.OutputKeeper)
	_, changes := d.(series.Changes)
	_, peeker := d.(series.Peeker)
	_, groups := d.(series.GroupPeeker)
	_, forcer := d.(driver.Forcer)
	_, sharder := d.(series.Sharder)
	for _, c := range []struct {
		need need
		has  bool
		name string
	}{
		{needWaiter, waiter, "lock.Waiter"},
		{needInspector, inspector, "lock.Inspector"},
		{needSharer, sharer, "lock.Sharer"},
		{needSeveral, several, "lock.Several"},
		{needRenewer, renewer, "driver.MultiRenewer"},
		{needAbandon, env.Abandon != nil, "Env.Abandon"},
		{needNumbered, numbered, "lock.Numbered with a lock.Controlled"},
		{needJournal, journaled, "lock.Journaled"},
		{needClock, clocked, "lock.Clocked"},
		{needMembership, membership, "lock.Membership"},
		{needPeeker, peeker, "lock.Peeker"},
		{needGroups, groups, "series.GroupPeeker"},
		{needOutputs, outputs, "series.OutputKeeper"},
		{needChanges, changes, "series.Changes"},
		{needForcer, forcer, "lock.Forcer"},
		{needSharder, sharder, "series.Sharder"},
		{needSetClock, env.SetClock != nil, "Env.SetClock"},
		{needForget, env.Forget != nil, "Env.Forget"},
	} {
		if p.needs&c.need != 0 && !c.has {
			return c.name
		}
	}
	return ""
}
