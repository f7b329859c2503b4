package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
)

// The write of the second holder is taken, the late one of the first is refused; so it is
// when the program runs again over the same row.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "invoices.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		var out strings.Builder
		if err := run(t.Context(), server.Addr(), db, &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for _, want := range []string{"first: lock: lease lost", "second: written\n", "first: guard: a higher fence was seen\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("printed %q, want %q in it", out.String(), want)
			}
		}
	}
}
