package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// In sessions whose statements are rolled back when the connection closes, nothing is granted and
// nothing is refused: every request is doubt that names the setting, and does not block a row for
// other sessions.
func TestSessionsThatDoNotCommit(t *testing.T) {
	t.Parallel()
	on := mariadb(t)
	clean := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
	g, err := clean.Acquire(t.Context(), driver.Acquisition{Key: "free", Owner: "m/1", TTL: minute})
	must(t, err)
	held := driver.LeaseRef{Key: "free", Owner: "m/1", Fence: g.Fence, TTL: minute}
	for _, setting := range []string{"autocommit=0", "completion_type=1"} {
		bad := on
		bad.dsn += "&" + setting
		db := bad.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		short, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, waited := d.Wait(short, driver.Acquisition{Key: "free", Owner: "n/1", TTL: minute})
		stop()
		_, acquired := d.Acquire(t.Context(), driver.Acquisition{Key: "free", Owner: "n/1", TTL: minute})
		_, fresh := d.Acquire(t.Context(), driver.Acquisition{Key: "new", Owner: "n/1", TTL: minute})
		_, renewed := d.Renew(t.Context(), held)
		_, beaten := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute})
		for what, err := range map[string]error{
			"wait": waited, "acquire": acquired, "acquire a new key": fresh, "renew": renewed, "beat": beaten,
			"release": d.Release(t.Context(), held),
			"open":    d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err,
			"probe":   d.ReadSeries(t.Context(), []string{"job"})[0].Err,
		} {
			if err == nil || isHeld(err) || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s: %s is %v, want doubt", setting, what, err)
			}
		}
		if !strings.Contains(acquired.Error(), "autocommit") {
			t.Errorf("%s: the error does not name it: %v", setting, acquired)
		}
		if found, ok := errors.AsType[*sqllock.SettingError](d.Check(t.Context())); !ok || found.Setting != "autocommit" {
			t.Errorf("%s: the check says %v", setting, found)
		}
		must(t, clean.Release(t.Context(), held)) // at once: no row is locked
		must(t, db.Close())
		g, err := clean.Acquire(t.Context(), driver.Acquisition{Key: "free", Owner: "m/" + setting, TTL: minute})
		must(t, err)
		held.Owner, held.Fence = "m/"+setting, g.Fence
	}
}

// A pool full of connections that are read-only, as after a failover to another server, becomes
// usable again without a restart: the driver closes those connections.
func TestReadOnlyConnectionsAreDropped(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]struct {
		open     func(testing.TB) database
		readOnly string
	}{
		"PostgreSQL": {postgres, "SET default_transaction_read_only = on"},
		"MariaDB":    {mariadb, "SET SESSION TRANSACTION READ ONLY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := on.open(t)
			db := is.connect(t)
			db.SetMaxOpenConns(1)
			d := newDriver(t, db, is.dialect, sqllock.Options{})
			for i, ask := range []func() error{
				func() error {
					_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
					return err
				},
				func() error { return d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err },
				func() error { return d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1"}) },
				func() error { _, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}); return err },
			} {
				_, err := db.Exec(on.readOnly)
				must(t, err)
				if err := ask(); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
		})
	}
}

// plan returns how a database would run a statement. Not every database can explain a statement
// with arguments.
func plan(t testing.TB, db *sql.DB, dialect sqllock.Dialect, text string, args []any) string {
	t.Helper()
	next := 0
	text = regexp.MustCompile(`\$\d+|\?`).ReplaceAllStringFunc(text, func(sign string) string {
		at := next
		if next++; sign != "?" {
			at, _ = strconv.Atoi(sign[1:]) // matches the pattern, so it is a number
			at--
		}
		if word, is := args[at].(string); is {
			return "'" + word + "'"
		}
		return fmt.Sprint(args[at])
	})
	explain := map[sqllock.Dialect]string{sqllock.PostgreSQL: "EXPLAIN ", sqllock.MySQL: "EXPLAIN FORMAT=JSON ", sqllock.SQLite: "EXPLAIN QUERY PLAN "}
	return texts(t, db, explain[dialect]+text)
}

// The clean-up finds the rows to remove by an index, and removes all of them.
func TestSweepIsIndexed(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		const keys = 6000
		day := time.Now().Unix() / 86400
		for first := 0; first < keys; first += 500 {
			rows := make([]string, 500)
			for i := range rows {
				used := day
				if i%10 == 0 {
					used -= 5
				}
				rows[i] = fmt.Sprintf("('cronce', 'key %d', '', 1, 1, 0, '', %d)", first+i, used)
			}
			_, err := db.Exec("INSERT INTO cronce_leases (ns, name, owner, fence, until_us, place, holders, used_day) VALUES " +
				strings.Join(rows, ", "))
			must(t, err)
		}
		if on.dialect != sqllock.SQLite {
			_, err := db.Exec(map[sqllock.Dialect]string{sqllock.PostgreSQL: "ANALYZE cronce_leases", sqllock.MySQL: "ANALYZE TABLE cronce_leases"}[on.dialect])
			must(t, err)
		}
		text, args := d.SweepPlan(time.Now().UnixMicro())
		if plan := plan(t, db, on.dialect, text, args); !strings.Contains(plan, "used_day") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\n%s", text, plan)
		}
		eventually(t, "all that is to go is gone", func() bool { // one run of the maintenance may be too short
			d.MaintenanceDue()
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key 1", Owner: "n/1"}))
			d.MaintenanceDone()
			var left int
			must(t, db.QueryRow("SELECT count(*) FROM cronce_leases").Scan(&left))
			return left == keys*9/10
		})
	})
}
