package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
)

// The page of the audit names the command for older records as soon as it is full: it has a hundred records, the newest ones.
func TestAuditPageNamesOlderRecords(t *testing.T) {
	pl := newPlane(t, "")
	for i := range auditRecords + 1 {
		action := []series.Action{series.ActionPause, series.ActionResume}[i%2]
		c := series.Control{Key: "report", Action: action, Op: fmt.Sprint(i), Who: "bob", Reason: "for the test", Seen: series.AnySeen}
		if a := pl.store.Control(t.Context(), c); !a.Made {
			t.Fatalf("%+v", a)
		}
		n := i + 1
		if n < auditRecords-1 {
			continue
		}
		for target, command := range map[string]string{"/audit": "cronce audit -n 10000", "/audit?job=report": "cronce audit --job report -n 10000"} {
			body := pl.do("GET", target, pl.tokens[access.Viewer]).Body.String()
			if older := strings.Contains(body, "Older records: <code>"+command); older != (n >= auditRecords) {
				t.Errorf("%s with %d records names older ones: %v", target, n, older)
			}
			if rows := strings.Count(body, "<tr data-row>"); rows != min(n, auditRecords) || !strings.Contains(body, fmt.Sprintf(`data-label="No.">%d<`, n)) {
				t.Errorf("%s shows %d of %d records, or lacks the newest", target, rows, n)
			}
		}
	}
}
