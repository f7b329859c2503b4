package reward_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

// run runs a statement that the test needs.
func run(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// A record whose commit fails is not taken for one that a higher fence has kept out: it is written again,
// three times in all, and what is wrong is in the error.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	for fails, recorded := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			t.Parallel()
			db := sqlserver.SharedPostgres(t).Open(t)
			b := open(t, db, reward.PostgreSQL)
			run(t, db, "CREATE SEQUENCE tries")
			run(t, db, fmt.Sprintf("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "+
				"'BEGIN IF nextval(''tries'') <= %d THEN RAISE EXCEPTION ''the disk is full''; END IF; RETURN NULL; END'", fails))
			run(t, db, "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON reward_record DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()")
			r, err := desk(t, b, new(memlock.Store), reward.Options{}).Claim(t.Context(), reward.Claim{Family: "family-4711", Reward: "welcome", Member: "member-1"})
			tries := 0
			if err := db.QueryRowContext(t.Context(), "SELECT last_value FROM tries").Scan(&tries); err != nil {
				t.Fatal(err)
			}
			if (err == nil) != recorded || errors.Is(err, guard.ErrStale) || recorded && r.Member != "member-1" || rows(t, db) == 1 != recorded {
				t.Errorf("the claim: %v, %v", r, err)
			}
			if tries != min(fails+1, 3) {
				t.Errorf("it was written %d times", tries)
			}
		})
	}
}

// A member with a higher fence that comes while a record is being written waits for it and finds it then:
// it does not get the answer that there is none, and prepares nothing.
func TestHigherFenceWaitsForTheRecord(t *testing.T) {
	t.Parallel()
	db := sqlserver.SharedPostgres(t).Open(t)
	b := open(t, db, reward.PostgreSQL)
	gate, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	run(t, db, "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'")
	run(t, db, "CREATE TRIGGER wait BEFORE INSERT ON reward_record FOR EACH ROW EXECUTE FUNCTION wait()")
	if _, err := gate.ExecContext(t.Context(), "SELECT pg_advisory_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	var store memlock.Store
	claim := func(member string, o reward.Options) <-chan answer {
		end, d := make(chan answer, 1), desk(t, b, &store, o)
		go func() {
			r, err := d.Claim(t.Context(), reward.Claim{Family: "family-4711", Reward: "welcome", Member: member})
			end <- answer{member, r, err}
		}()
		return end
	}
	first := claim("member-1", reward.Options{})
	waiters(t, db, 1, nil)
	store.Forget() // the lease of the first is over, and its transaction is not
	prepared := make(chan struct{})
	second := claim("member-2", reward.Options{Prepare: func(context.Context, reward.Claim) error {
		close(prepared)
		return nil
	}})
	waiters(t, db, 2, prepared)
	if _, err := gate.ExecContext(t.Context(), "SELECT pg_advisory_unlock(4711)"); err != nil {
		t.Fatal(err)
	}
	a, z := await(t, first), await(t, second)
	if a.err != nil || a.record.Member != "member-1" {
		t.Errorf("the first got %v, %v", a.record, a.err)
	}
	if taken, refused := errors.AsType[*reward.TakenError](z.err); !refused || taken.Member != "member-1" {
		t.Errorf("the second got %v, %v", z.record, z.err)
	}
	select {
	case <-prepared:
		t.Error("the second prepared a reward that was being recorded")
	default:
	}
}

// waiters waits until so many sessions of the database wait for a lock, or until something else has
// happened.
func waiters(t *testing.T, db *sql.DB, want int, or <-chan struct{}) {
	t.Helper()
	for give := time.Now().Add(2 * time.Minute); ; {
		n := 0
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n >= want {
			return
		}
		select {
		case <-or:
			return
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(give) {
			t.Fatalf("%d sessions wait, want %d", n, want)
		}
	}
}
