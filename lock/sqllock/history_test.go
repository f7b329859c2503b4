package sqllock_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/history"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/sqllock"
)

// What many clients saw of each database is what a correct store could have
// answered.
func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
		defer stop()
		shared := driver(t, d.connect(t), d.dialect, sqllock.Options{})
		ops := history.Crowd{Driver: func(int) lock.Driver { return shared }, Timeout: time.Second}.Run(ctx)
		limits := history.Limits{Late: 2 * time.Second, Over: 200 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
		if err := history.Check(ops, limits); err != nil {
			t.Error(err)
		}
		t.Logf("%d requests", len(ops))
	})
}
