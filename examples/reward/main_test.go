package main

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/guard"
)

// Five members claim at once: one gets the reward after one piece of work, four are refused with its
// name, and the same member has it when all claim again.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	db := open(t)
	winner := ""
	for again := range 2 {
		var out strings.Builder
		if err := run(t.Context(), server.Addr(), db, &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		var rows int
		if err := db.QueryRow("SELECT COUNT(*), MAX(member) FROM reward").Scan(&rows, &winner); err != nil || rows != 1 {
			t.Fatalf("%d rows, %v, want one", rows, err)
		}
		for text, want := range map[string]int{
			"a voucher is set aside for " + winner + "\n": 1 - again, "a voucher": 1 - again,
			winner + " has the reward\n": 1, "is refused: " + winner + " has it\n": len(members) - 1,
		} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%q is printed %d times, want %d:\n%s", text, n, want, out.String())
			}
		}
	}
}

// A claim is stopped between its read and its write, and another member claims: the late write is
// refused, and so is a late read.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), open(t)
	if err := createTable(ctx, db); err != nil {
		t.Fatal(err)
	}
	for _, fence := range []int64{1, 2} {
		if owner, err := enter(ctx, db, "f", "r", fence); owner != "" || err != nil {
			t.Fatalf("enter with fence %d = %q, %v", fence, owner, err)
		}
	}
	if err := record(ctx, db, "f", "r", "late", 1); !errors.Is(err, guard.ErrStale) {
		t.Errorf("the late write = %v, want ErrStale", err)
	}
	if _, err := enter(ctx, db, "f", "r", 1); !errors.Is(err, guard.ErrStale) {
		t.Errorf("the late read = %v, want ErrStale", err)
	}
	if err := record(ctx, db, "f", "r", "second", 2); err != nil {
		t.Error(err)
	}
	if owner, err := enter(ctx, db, "f", "r", 3); owner != "second" || err != nil {
		t.Errorf("enter = %q, %v, want second", owner, err)
	}
	if err := record(ctx, db, "f", "r", "third", 3); !errors.Is(err, guard.ErrStale) {
		t.Errorf("a second record = %v, want ErrStale", err)
	}
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "rewards.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
