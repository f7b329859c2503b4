package sqllock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// A record that is too many removes the oldest record, and never the row with the number of the newest.
func TestAuditIsBounded(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		s := &stage{T: t, d: newDriver(t, db, on.dialect, sqllock.Options{}), key: "job"}
		s.open()
		for i, action := range []series.Action{series.ActionPause, series.ActionResume, series.ActionPause} {
			if i == 2 {
				_, err := db.Exec(fmt.Sprintf("UPDATE cronce_audit SET record = '%d' WHERE n = 0", series.MaxAudit))
				must(t, err)
			}
			a := s.d.Control(t.Context(), series.Control{Key: s.key, Action: action, Op: fmt.Sprint(i), Who: "ann", Reason: "for the test", Seen: series.AnySeen})
			if must(t, a.Err); !a.Made {
				t.Fatalf("the change is refused: %+v", a)
			}
		}
		got := strings.Fields(texts(t, db, "SELECT n FROM cronce_audit ORDER BY n"))
		if want := fmt.Sprint([]int{0, 2, series.MaxAudit + 1}); fmt.Sprint(got) != want {
			t.Errorf("kept are the records %v, want %s", got, want)
		}
	})
}
