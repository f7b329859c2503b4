package sqllock_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/history"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// saw returns the operations that many clients observed on a driver for some time.
func saw(t *testing.T, d driver.Driver, length time.Duration) []history.Op {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	ops := history.Crowd{Driver: func(int) driver.Driver { return d }, Timeout: time.Second}.Run(ctx)
	t.Logf("%d requests", len(ops))
	return ops
}

func limits(t *testing.T) history.Limits {
	return history.Limits{Late: 2 * time.Second, Over: 200 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
}

// A correct store could have given the answers that many clients got from each database, while it
// loses a reply, and the connection with it, again and again.
func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db, lossy := d.lossyOn(t)
		stop := lossy.again()
		ops := saw(t, newDriver(t, db, d.dialect, sqllock.Options{}), 4*time.Second)
		stop()
		if !slices.ContainsFunc(ops, func(o history.Op) bool { return o.Outcome == history.Unknown }) {
			t.Error("nobody was in doubt")
		}
		if err := history.Check(ops, limits(t)); err != nil {
			t.Error(err)
		}
	})
}

// The same checker, with the same limits, finds each planted fault. On a loaded machine, two
// seconds may be too short to show a fault; six times that is enough.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	for _, p := range history.Planted {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			on := sqlite(t)
			db := on.connect(t)
			if p.Disturbed {
				var lossy *lossy
				db, lossy = on.lossyOn(t)
				defer lossy.again()()
			}
			planted := p.Into(newDriver(t, db, on.dialect, sqllock.Options{}))
			var err error
			for range 6 {
				if err = history.Check(saw(t, planted, 2*time.Second), limits(t)); err != nil {
					break
				}
			}
			if !history.Refuted(err) {
				t.Errorf("the fault was not found: %v", err)
			}
		})
	}
}
