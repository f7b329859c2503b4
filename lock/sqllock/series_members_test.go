package sqllock_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// forge writes nodes that never beat, one µs apart from an instant on.
func forge(t *testing.T, db *sql.DB, name string, nodes int, us int64) {
	t.Helper()
	const some = 1000
	for first := 0; first < nodes; first += some {
		rows := make([]string, min(some, nodes-first))
		for i := range rows {
			rows[i] = fmt.Sprintf("('cronce', '%s%d', %d)", name, first+i, us+int64(first+i))
		}
		_, err := db.Exec("INSERT INTO cronce_nodes (ns, node, until_us) VALUES " + strings.Join(rows, ", "))
		must(t, err)
	}
}

// Forged nodes do not displace a node that beats: its time is nearer. Of each kind a bounded number
// is kept, the nodes nearest to now, and a list is read by its index.
func TestNodesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		if on.dialect == sqllock.PostgreSQL {
			_, err := db.Exec("VACUUM ANALYZE cronce_nodes")
			must(t, err)
		}
		const hour, most = int64(time.Hour / time.Microsecond), series.MaxNodes + 200
		d.KeepNodes(most)
		us := time.Now().UnixMicro()
		first := map[string]int64{"live": us + 20*hour, "silent": us - 20*hour, "left": -us + 2*hour, "ahead": -us - 20*hour}
		for name, us := range first {
			forge(t, db, name, most+100, us)
		}
		forge(t, db, "never", 3, us+30*hour)
		forge(t, db, "neither", 3, -us-30*hour)
		for text, args := range d.NodesPlans(us) {
			p := plan(t, db, on.dialect, text, args)
			for _, bad := range []string{"Seq Scan", "Sort", "filesort", "TEMP B-TREE", "SCAN cronce_nodes"} {
				if strings.Contains(p, bad) {
					t.Errorf("%s\n%s\n%s", bad, text, p)
				}
			}
		}
		must(t, d.Leave(t.Context(), "live0"))
		p, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute})
		must(t, err)
		if len(p.Nodes) != series.MaxNodes || !slices.Contains(p.Nodes, "a") {
			t.Errorf("%d nodes are reported as living", len(p.Nodes))
		}
		p, err = d.Beat(t.Context(), series.Beat{Node: "later", TTL: 22 * time.Hour})
		must(t, err)
		if len(p.Nodes) != series.MaxNodes || !slices.Contains(p.Nodes, "later") {
			t.Errorf("%d nodes are reported as living to one that has no place among them", len(p.Nodes))
		}
		roll, err := d.Members(t.Context())
		must(t, err)
		for _, node := range []string{"a", "live0", "live1"} {
			if !slices.ContainsFunc(roll.Members, func(m series.Member) bool { return m.Node == node && m.Alive(roll.Now) == (node != "live0") }) {
				t.Errorf("%s is not among the %d members as it should be", node, len(roll.Members))
			}
		}
		kept := func() string {
			return strings.Join(strings.Fields(texts(t, db, "SELECT CASE WHEN until_us > 0 AND node LIKE 'live%' THEN 'live' WHEN until_us < 0 AND node LIKE 'l%' THEN 'left'"+
				" WHEN node LIKE 'ahead%' THEN 'ahead' WHEN node LIKE 'silent%' THEN 'silent' ELSE node END AS kind, count(*) FROM cronce_nodes GROUP BY 1 ORDER BY 1")), " ")
		}
		want := fmt.Sprintf("a 1 ahead %d left %d live %d silent %d", most, most, most-1, most)
		eventually(t, "the nodes are "+want, func() bool { // one run of the maintenance may be too short
			d.MaintenanceDue()
			_, err = d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute})
			must(t, err)
			d.MaintenanceDone()
			return kept() == want
		})
	})
}
