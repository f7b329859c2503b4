package series_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A plain driver has no capability.
type plain struct{}

func (plain) Acquire(context.Context, driver.Acquisition) (driver.Grant, error) {
	return driver.Grant{Fence: 1}, nil
}
func (plain) Renew(context.Context, driver.LeaseRef) (driver.Grant, error) {
	return driver.Grant{Fence: 1}, nil
}
func (plain) Release(context.Context, driver.LeaseRef) error { return nil }

// A front answers a good request that the driver has no method for with ErrUnsupported. The
// contract of the stores has all else.
func TestFrontOfAPlainDriver(t *testing.T) {
	f, ctx := series.FrontOf(plain{}), t.Context()
	a := driver.Acquisition{Key: "k", Owner: "n/1", TTL: time.Minute}
	held := driver.LeaseRef{Key: "k", Owner: "n/0", Fence: 1, TTL: time.Minute}
	run := series.RunRef{Key: "k", Number: 1, Owner: "n/1", Fence: 1, TTL: time.Minute}
	copied := a
	copied.Replicas = 1
	_, acquire := f.Acquire(ctx, copied)
	_, wait := f.Wait(ctx, a)
	_, all := f.AcquireAll(ctx, []driver.Acquisition{a})
	_, force := f.Force(ctx, driver.ForceRequest{Key: "k", ID: "1", By: "a", Reason: "b"})
	_, records := f.ForceRecords(ctx, "k")
	_, inspect := f.Inspect(ctx, "k")
	_, holders := f.Holders(ctx, "k")
	_, beat := f.Beat(ctx, series.Beat{Node: "n", TTL: time.Minute})
	_, journal := f.Journal(ctx, "k", 1)
	_, audit := f.Audit(ctx, "", 1)
	for what, err := range map[string]error{
		"acquire with replicas": acquire, "wait": wait, "acquire all": all, "release all": f.ReleaseAll(ctx, []driver.LeaseRef{held})[0],
		"force": force, "records": records, "inspect": inspect, "holders": holders, "beat": beat, "leave": f.Leave(ctx, "n"),
		"journal": journal, "open": f.Open(ctx, []series.OpenRequest{{Key: "k", Node: "n"}})[0].Err,
		"claim": f.Claim(ctx, []series.Claim{{Key: "k", Owner: "n/1", Number: 1, TTL: time.Minute, Attempts: 1}})[0].Err,
		"renew": f.RenewRuns(ctx, []series.RunRef{run})[0].Err, "end": f.ReleaseRuns(ctx, []series.EndRequest{{RunRef: run}})[0].Err,
		"look": f.ReadSeries(ctx, []string{"k"})[0].Err, "audit": audit,
		"control": f.Control(ctx, series.Control{Key: "k", Action: series.ActionPause, Op: "1", Who: "a", Reason: "for the test"}).Err,
	} {
		if !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", what, err)
		}
	}
	if g, err := f.Acquire(ctx, a); g.Fence != 1 || err != nil {
		t.Errorf("acquire: %+v, %v, want what the driver answers", g, err)
	}
}
