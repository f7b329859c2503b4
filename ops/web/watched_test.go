package web

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ops/access"
)

// Each page, and each answer of the API, makes an idle plane read the store at once: a person who follows a page does not see a
// reading of ten seconds ago again and again. The loop comes to each route after more than thirty seconds without a reader.
func TestReadersEndTheIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go pl.p.Run(ctx)
		for _, rt := range pl.routes() {
			if rt.role == access.None || !strings.HasPrefix(rt.pattern, "GET ") || rt.pattern == "GET /events" || rt.pattern == "GET /metrics" {
				continue
			}
			time.Sleep(35*time.Second + 123*time.Millisecond) // between two readings of an idle plane
			synctest.Wait()
			before := pl.p.Peek()
			method, target := address(rt.pattern)
			pl.do(method, target, pl.tokens[access.Operator])
			if synctest.Wait(); pl.p.Peek() == before {
				t.Errorf("%s reads what an idle plane has", rt.pattern)
			}
		}
	})
}
