package sqllock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// A queue is read in the order of its index: a hand-over reads the head alone, and a probe reads
// the places before its waiter. A long queue costs no more than a short one. This also holds if the
// statistics of PostgreSQL say that there is no queue, as they do most of the time.
func TestQueueIsIndexed(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		if on.dialect == sqllock.PostgreSQL {
			_, err := db.Exec("VACUUM ANALYZE cronce_places")
			must(t, err)
		}
		const places = 2000
		for first := 0; first < places; first += 500 {
			rows := make([]string, 500)
			for i := range rows {
				rows[i] = fmt.Sprintf("('cronce', 'key', 'n/%d', 'party', 1, 60000000, 0, 0)", first+i)
			}
			_, err := db.Exec("INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES " +
				strings.Join(rows, ", "))
			must(t, err)
		}
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "new", Owner: "holder/1", TTL: minute})
		must(t, err)
		_, err = db.Exec("UPDATE cronce_leases SET name = 'key'") // held, with a queue
		must(t, err)
		heads, probe, args := d.QueuePlans("key", time.Now().UnixMicro())
		for text, args := range heads {
			p := plan(t, db, on.dialect, text, args)
			for _, bad := range []string{"Seq Scan on cronce_places", "Filter: (place = ", "Sort", "filesort", "TEMP B-TREE"} {
				if strings.Contains(p, bad) {
					t.Errorf("%s\n%s\n%s", bad, text, p)
				}
			}
		}
		want := map[sqllock.Dialect]string{
			sqllock.PostgreSQL: "AND (place < p.place)", sqllock.MySQL: `"key": "PRIMARY"`, sqllock.SQLite: "cronce_places_by_name (ns=? AND name=? AND place<?)",
		}[on.dialect]
		if p := plan(t, db, on.dialect, probe, args); !strings.Contains(p, want) {
			t.Errorf("%s\n%s", probe, p)
		}
	})
}
