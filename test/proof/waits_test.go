package proof

import (
	"database/sql"
	"testing"
	"time"
)

// Another client locks the rows in PostgreSQL for a while. Only requests that need none of them get a
// reply: nodes wait, and the meter measures it.
func TestMeterSeesRowsLocked(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Member.On(PostgreSQL))
	job := Job{Name: "job", Every: time.Second, Lease: 20 * time.Second}
	c.Start(Node{Name: "n", Jobs: []Job{job}})
	c.Warm(job)
	db, err := sql.Open("pgx", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT FROM cronce_series FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	c.Pass(time.Second)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	c.Must("the meter sees it", func(View) bool { return c.Starved(from, time.Now()) >= 500*time.Millisecond })
}
