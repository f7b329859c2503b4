package reward_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

// onDatabases runs a test on an empty SQLite, PostgreSQL and MariaDB.
func onDatabases(t *testing.T, test func(t *testing.T, db *sql.DB, d reward.Dialect)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite(t), reward.SQLite)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, sqlserver.SharedPostgres(t).Open(t), reward.PostgreSQL)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, sqlserver.SharedMariaDB(t).Open(t), reward.MySQL)
	})
}

func sqlite(t testing.TB) *sql.DB {
	t.Helper()
	return sqlserver.Connect(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)")
}

func open(t testing.TB, db *sql.DB, d reward.Dialect) *reward.Book {
	t.Helper()
	b, err := reward.Open(t.Context(), db, d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// desk is that of one process.
func desk(t testing.TB, b *reward.Book, store driver.Driver, o reward.Options) *reward.Desk {
	t.Helper()
	d, err := reward.NewDesk(b, lock.New(store, ""), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var members = []string{"member-1", "member-2", "member-3", "member-4", "member-5"}

// An answer is the reply to a member.
type answer struct {
	member string
	record reward.Record
	err    error
}

// together lets five members, each at its own desk, claim one reward at once.
func together(t *testing.T, at func(member string) *reward.Desk) []answer {
	t.Helper()
	answers := make([]answer, len(members))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, member := range members {
		d := at(member)
		wg.Go(func() {
			<-start
			r, err := d.Claim(t.Context(), reward.Claim{Family: "family-4711", Reward: "welcome", Member: member})
			answers[i] = answer{member, r, err}
		})
	}
	close(start)
	wg.Wait()
	return answers
}

// wantOne checks that one member has the reward and the others got its name.
func wantOne(t *testing.T, b *reward.Book, answers []answer) {
	t.Helper()
	kept, found, err := b.Find(t.Context(), "family-4711", "welcome")
	if err != nil || !found {
		t.Fatalf("the record: %v, %v", found, err)
	}
	for _, a := range answers {
		taken, refused := errors.AsType[*reward.TakenError](a.err)
		switch {
		case a.member == kept.Member:
			if a.err != nil || a.record.Member != kept.Member || a.record.Fence != kept.Fence || !a.record.At.Equal(kept.At) {
				t.Errorf("%s has the reward, and got %v, %v", a.member, a.record, a.err)
			}
		case !refused:
			t.Errorf("%s got %v, %v, want a refusal", a.member, a.record, a.err)
		case taken.Member != kept.Member || !taken.At.Equal(kept.At) || taken.Family != "family-4711" || taken.Reward != "welcome":
			t.Errorf("%s got %q since %v, the record says %q since %v", a.member, taken.Member, taken.At, kept.Member, kept.At)
		}
	}
}

// rows counts the records.
func rows(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM reward_record").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits for what a channel brings, or for its end.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("it never came")
	}
	panic("unreachable")
}

// MySQL takes the statements for MariaDB, on which the tests run.
func TestStatementsAreMySQL(t *testing.T) {
	all, err := reward.Statements()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if bad := sqlserver.NotMySQL(s); bad != nil {
			t.Errorf("%q in %s", bad, s)
		}
	}
}
