package web

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
)

// The page of nodes has a node that left with an alive run as draining, as the API and the command have it.
func TestDrainingNodeOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		mark := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark
		tick := (mark/1000 + 1) * 1000
		time.Sleep(time.Until(time.UnixMilli(tick)))
		c := series.Claim{Key: "report", Owner: "web-1/x", Number: tick, After: mark, TTL: time.Hour, Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r"}
		if a := pl.store.Claim(t.Context(), []series.Claim{c})[0]; a.Kind != series.KindGranted {
			t.Fatal(a.Kind, a.Err)
		}
		if err := pl.store.Leave(t.Context(), "web-1"); err != nil {
			t.Fatal(err)
		}
		pl.p.Refresh(t.Context())
		if v := pl.p.Snapshot().NodeViews(); len(v) != 1 || v[0].State != "draining" {
			t.Fatalf("%+v", v)
		}
		body := pl.do("GET", "/nodes", pl.tokens[access.Viewer]).Body.String()
		_, table, _ := strings.Cut(body, `id="nodes"`)
		if strings.Contains(table, "silent") || !strings.Contains(table, "draining") {
			row, _, _ := strings.Cut(table[strings.Index(table, "<tr data-row>"):], "</tr>")
			t.Errorf("the page says %s", row)
		}
	})
}
