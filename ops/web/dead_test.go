package web

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// muteStore is a store that does not answer from some time on.
type muteStore struct {
	ops.Store
	since time.Time
}

func (m *muteStore) silent() error {
	if m.since.IsZero() || time.Now().Before(m.since) {
		return nil
	}
	return errors.New("it is silent")
}

func (m *muteStore) ReadSeries(ctx context.Context, keys []string) []series.Series {
	all := m.Store.ReadSeries(ctx, keys)
	for i := range all {
		all[i].Err = m.silent()
	}
	return all
}

// A page says, also without JavaScript, why nothing on it may look healthy: no node is alive, the store is silent, or the reading is
// old. A page of a healthy fleet, and of one whose jobs crontabs claim, does not.
func TestDeadPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		store := &muteStore{Store: pl.store}
		h, err := New(Options{Projection: ops.New(ops.Options{Store: store, Namespace: "shop"}), Store: pl.store, Gate: pl.gate})
		if err != nil {
			t.Fatal(err)
		}
		pl.Handler = h
		shows := func(want string) {
			t.Helper()
			for _, target := range []string{"/", "/jobs", "/jobs/report", "/nodes", "/runs"} {
				body := pl.do("GET", target, pl.tokens[access.Viewer]).Body.String()
				_, facts, _ := strings.Cut(body, `id="facts" data-live`)
				dead, _, _ := strings.Cut(facts, ">")
				if dead = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(dead), `data-dead="`), `"`); dead != want {
					t.Errorf("%s says %q, want %q", target, dead, want)
				}
			}
		}
		h.o.Projection.Refresh(t.Context())
		shows("")
		time.Sleep(oldAfter + time.Second)
		shows("the view is old")
		time.Sleep(time.Hour)
		h.o.Projection.Refresh(t.Context())
		shows("no node is alive")
		store.since = time.Now()
		h.o.Projection.Refresh(t.Context())
		shows("the store does not answer")
		store.since = time.Time{}
		crontab := series.OpenRequest{Key: "report", Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/callers:crontab"}
		pl.store.Open(t.Context(), []series.OpenRequest{crontab})
		time.Sleep(6 * time.Minute) // after which a journal is read again although nothing has changed
		h.o.Projection.Refresh(t.Context())
		shows("")
	})
}
