package runs

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// A lateness keeps how long the leases of late renewals were left.
type lateness struct {
	Events
	left []time.Duration
}

func (l *lateness) RenewalLate(_ *Attempt, left time.Duration) { l.left = append(l.left, left) }

// A process that was stopped may inspect a run before it ends the context of its lease. No renewal
// of that lease is late any more: the next inspection names the loss.
func TestNoRenewalIsLateAfterTheTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 30 * time.Second
		store, log := new(memlock.Store), new(lateness)
		ref := open(t, store, ttl)[0]
		time.Sleep(time.Second)
		claimed := claimer.New(store, "n").Claim(t.Context(), []series.Claim{{Key: ref.Key, Owner: "n/1", Number: ref.Number + 1000, After: ref.Number,
			TTL: ttl, Deadline: time.Minute, Attempts: 1, Latest: ref.Number + 60_000, Revision: "r", Overlap: series.OverlapAllow}})
		lease := claimed[0].Lease
		if lease == nil {
			t.Fatalf("answered %+v", claimed[0].Answer)
		}
		r := New(Config{Events: log})
		a := &Attempt{Grant: Grant{Lease: lease}, runs: r}
		a.TTL = ttl
		r.alive = []*Attempt{a}
		for _, left := range []time.Duration{time.Second, 0, -time.Minute} {
			r.inspected, a.renewalLate = time.Time{}, false
			r.Inspect(lease.Deadline().Add(-left))
		}
		if !slices.Equal(log.left, []time.Duration{time.Second}) {
			t.Errorf("late with %v left, want once, with 1s", log.left)
		}
		lease.End()
	})
}

// A shard is named by its tick and its index.
func TestName(t *testing.T) {
	for shards, want := range map[int]string{0: "rows@1970-01-01T00:00:01.000Z", 4: "rows@1970-01-01T00:00:01.000Z#2"} {
		lease := new(claimer.Lease)
		lease.Ref.Shards, lease.Ref.Shard = shards, min(shards, 2)
		a := &Attempt{Grant: Grant{Run: job.Run{Job: &job.Job{Name: "rows"}, Tick: 1000}, Lease: lease}}
		if got := a.String(); got != want {
			t.Errorf("%d shards: %s, want %s", shards, got, want)
		}
	}
}
