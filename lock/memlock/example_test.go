package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A plain lease: one owner at a time, and a fence that grows.
func Example() {
	ctx := context.Background()
	var store memlock.Store
	first, _ := store.Acquire(ctx, driver.Acquisition{Key: "report", Owner: "a/1", TTL: time.Minute})
	_, err := store.Acquire(ctx, driver.Acquisition{Key: "report", Owner: "b/1", TTL: time.Minute})
	fmt.Println(err != nil)

	_ = store.Release(ctx, driver.LeaseRef{Key: "report", Owner: "a/1", Fence: first.Fence})
	second, err := store.Acquire(ctx, driver.Acquisition{Key: "report", Owner: "b/1", TTL: time.Minute})
	fmt.Println(err, second.Fence > first.Fence)
	// Output:
	// true
	// <nil> true
}

// A number of a series is decided once: one owner is granted it, and later callers get the name of
// its node.
func ExampleStore_Claim() {
	ctx := context.Background()
	now := time.Unix(1_700_000_000, 0)
	store := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	mark := store.Open(ctx, []series.OpenRequest{{Key: "report", Node: "a"}})[0].Mark

	now = now.Add(5 * time.Second)
	for _, owner := range []string{"a/1", "b/1", "a/1"} {
		answer := store.Claim(ctx, []series.Claim{{Key: "report", Owner: owner, Number: mark + 5000, After: mark,
			TTL: time.Minute, Deadline: time.Minute, Attempts: 1, Latest: now.UnixMilli()}})[0]
		fmt.Println(answer.Kind == series.KindGranted, answer.Node)
	}
	// Output:
	// true a
	// false a
	// true a
}

// The journal has the verdict of every number.
func ExampleStore_Journal() {
	ctx := context.Background()
	now := time.Unix(1_700_000_000, 0)
	store := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	mark := store.Open(ctx, []series.OpenRequest{{Key: "report", Node: "a"}})[0].Mark

	now = now.Add(5 * time.Second)
	claim := series.Claim{Key: "report", Owner: "a/1", Number: mark + 5000, After: mark, TTL: time.Minute,
		Deadline: time.Minute, Attempts: 1, Latest: now.UnixMilli()}
	answer := store.Claim(ctx, []series.Claim{claim})[0]
	store.ReleaseRuns(ctx, []series.EndRequest{{State: series.RunDone, Outcome: series.OutcomeOK, OK: true,
		RunRef: series.RunRef{Key: "report", Number: claim.Number, Owner: claim.Owner, Fence: answer.Fence}}})

	journal, _ := store.Journal(ctx, "report", 0)
	for _, line := range journal.Lines {
		fmt.Printf("+%v %s %q\n", time.Duration(line.To-mark)*time.Millisecond, line.Verdict, line.Outcome)
	}
	// Output:
	// +0s opened ""
	// +5s ran "ok"
}

// An operator frees a key whose holder is stuck. The record names the operator and the reason, and
// the next grant has a greater fence.
func ExampleStore_Force() {
	ctx := context.Background()
	locker := lock.New(memlock.New(memlock.Options{}), "node-1")
	stuck, err := locker.TryAcquire(ctx, "backup", lock.Options{Note: "nightly"})
	if err != nil {
		fmt.Println(err)
		return
	}

	made, err := locker.Force(ctx, driver.ForceRequest{Key: "backup", By: "alice", Reason: "host db-3 hangs"})
	fmt.Println(made.By, made.Reason, made.Owners[0].Note, made.Owners[0].Fence == stuck.Fence(), err)

	next, err := locker.TryAcquire(ctx, "backup", lock.Options{})
	fmt.Println(next.Fence() > stuck.Fence(), err)
	fmt.Println(errors.Is(stuck.Release(ctx), lock.ErrLost), next.Release(ctx))
	// Output:
	// alice host db-3 hangs nightly true <nil>
	// true <nil>
	// true <nil>
}
