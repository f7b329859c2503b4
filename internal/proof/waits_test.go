package proof

import (
	"database/sql"
	"testing"
	"time"
)

// What waited at the same time counts once, and only what touches the interval.
func TestStarved(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		waits [][2]int // from, to
		want  int
	}{
		"none":             {nil, 0},
		"apart":            {[][2]int{{14, 15}, {11, 13}}, 3},
		"one in another":   {[][2]int{{11, 18}, {12, 14}}, 7},
		"overlapping":      {[][2]int{{13, 17}, {11, 15}}, 6},
		"over both ends":   {[][2]int{{8, 11}, {19, 22}}, 6},
		"before and after": {[][2]int{{5, 10}, {20, 25}}, 0},
	} {
		m := &Meter{}
		for _, w := range c.waits {
			m.waited(at(w[0]), at(w[1]).Sub(at(w[0])))
		}
		if got := m.Starved(at(10), at(20)); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: %v, want %d s", name, got, c.want)
		}
	}
}

// Somebody keeps the rows of a PostgreSQL to itself for a while, which answers
// whatever needs none of them: nodes wait, and the meter sees it.
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
