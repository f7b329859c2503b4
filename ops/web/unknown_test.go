package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ops/access"
)

// Whoever changes a job that is not on record, with a form or with a program, gets the status that says so, and the store has no
// record of such a job.
func TestChangeOfAJobThatIsNotOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		operator := pl.tokens[access.Operator]
		for _, rt := range pl.routes() {
			if !rt.writes() || rt.pattern == selectionRoute {
				continue
			}
			time.Sleep(time.Minute) // the allowance of the operator is whole again
			_, target := address(strings.Replace(rt.pattern, "{job}", "none", 1))
			body, kind, want := "op=one&reason=it+hangs", "application/x-www-form-urlencoded", "There is no job of this name on record."
			if strings.HasPrefix(target, "/api/") {
				body, kind, want = `{"reason":"it hangs"}`, "application/json", "urn:cronce:problem:not-found"
			}
			wants(t, pl.send(pl.Handler, operator, target, body, "Content-Type", kind), http.StatusNotFound, want)
		}
		if s := pl.store.ReadSeries(t.Context(), []string{"none"})[0]; s.Change != 0 {
			t.Errorf("the store has change %d of such a job", s.Change)
		}
	})
}
