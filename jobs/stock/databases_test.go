package stock_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// A place is a database of its own for a test.
type place struct {
	*stock.Database
	db      *sql.DB
	dialect stock.Dialect
}

// onDatabases runs a test on a real redis-server and an SQLite, PostgreSQL and MariaDB whose tables are
// empty, beside other tests.
func onDatabases(t *testing.T, test func(t *testing.T, client redis.UniversalClient, p place)) {
	onServers(t, test)
	onDatabase(t, "sqlite", sqlite, test)
}

// onEmptyDatabases is onDatabases without the tables.
func onEmptyDatabases(t *testing.T, test func(t *testing.T, client redis.UniversalClient, p place)) {
	t.Parallel()
	onDatabase(t, "postgres", func(t testing.TB) place { return newPlace(t, sqlserver.SharedPostgres(t).Open(t), stock.PostgreSQL) }, test)
	onDatabase(t, "mariadb", func(t testing.TB) place { return newPlace(t, sqlserver.SharedMariaDB(t).Open(t), stock.MySQL) }, test)
	onDatabase(t, "sqlite", emptySQLite, test)
}

// onServers is onDatabases without SQLite.
func onServers(t *testing.T, test func(t *testing.T, client redis.UniversalClient, p place)) {
	t.Parallel()
	onDatabase(t, "postgres", func(t testing.TB) place { return copied(t, sqlserver.SharedPostgres(t), stock.PostgreSQL) }, test)
	onDatabase(t, "mariadb", func(t testing.TB) place { return copied(t, sqlserver.SharedMariaDB(t), stock.MySQL) }, test)
}

func onDatabase(t *testing.T, name string, open func(t testing.TB) place, test func(t *testing.T, client redis.UniversalClient, p place)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, redisserver.Start(t).Addr()), open(t))
	})
}

func emptySQLite(t testing.TB) place {
	t.Helper()
	return newPlace(t, sqlserver.Connect(t, "sqlite", sqliteDSN(filepath.Join(t.TempDir(), "db"))), stock.SQLite)
}

// sqlite is an SQLite with the tables.
func sqlite(t testing.TB) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, template(t, stock.SQLite, func() []byte {
		made := filepath.Join(t.TempDir(), "made")
		migrated(t, "sqlite", sqliteDSN(made), stock.SQLite)
		text, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}), 0o600); err != nil {
		t.Fatal(err)
	}
	return newPlace(t, sqlserver.Connect(t, "sqlite", sqliteDSN(path)), stock.SQLite)
}

// copied is a database of a server with the tables.
func copied(t testing.TB, s *sqlserver.Server, d stock.Dialect) place {
	t.Helper()
	name := template(t, d, func() []byte {
		name := s.Create(t)
		migrated(t, s.Driver(), s.DSN(name), d)
		return []byte(name)
	})
	return newPlace(t, sqlserver.Connect(t, s.Driver(), s.DSN(s.Copy(t, string(name)))), d)
}

// templates are a file of SQLite and the names of databases of the shared servers, from which tests
// copy the tables: to migrate an empty database takes longer than most tests.
var templates = struct {
	mu   sync.Mutex
	made map[stock.Dialect][]byte
}{made: map[stock.Dialect][]byte{}}

func template(t testing.TB, d stock.Dialect, made func() []byte) []byte {
	t.Helper()
	templates.mu.Lock()
	defer templates.mu.Unlock()
	if templates.made[d] == nil {
		templates.made[d] = made()
	}
	return templates.made[d]
}

// migrated makes the tables in a database, and leaves it.
func migrated(t testing.TB, driver, dsn string, d stock.Dialect) {
	t.Helper()
	db := sqlserver.Connect(t, driver, dsn)
	if err := errors.Join(newPlace(t, db, d).Migrate(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func sqliteDSN(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate"
}

func newPlace(t testing.TB, db *sql.DB, d stock.Dialect) place {
	t.Helper()
	b, err := stock.NewDatabase(db, d)
	if err != nil {
		t.Fatal(err)
	}
	return place{b, db, d}
}

// lines reads rows as text, one each.
func (p place) lines(t testing.TB, query string) (lines []string) {
	t.Helper()
	rows, err := p.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for _, v := range values {
			line += " " + v.String
		}
		lines = append(lines, line[1:])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// wantLines checks what a query finds.
func (p place) wantLines(t testing.TB, query string, want ...string) {
	t.Helper()
	if got := p.lines(t, query); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s\n found %q\n  want %q", query, got, want)
	}
}

const (
	productRows = "SELECT sku, put_in, reserved, sold FROM product ORDER BY sku"
	orderRows   = "SELECT id, status, receiver, amount, currency FROM orders ORDER BY id"
	itemRows    = "SELECT order_id, sku, quantity FROM order_item ORDER BY order_id, sku"
	// Products whose counts are not those of the orders themselves, in one statement: a settlement
	// may outlive the caller that it was for.
	unequal = "SELECT p.sku, p.reserved, p.sold, s.reserved, s.sold FROM product p JOIN (SELECT i.sku," +
		" SUM(CASE WHEN o.status = 'reserved' THEN i.quantity ELSE 0 END) AS reserved, SUM(CASE o.status WHEN 'paid' THEN i.quantity ELSE 0 END) AS sold" +
		" FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id GROUP BY i.sku) s ON s.sku = p.sku WHERE p.reserved <> s.reserved OR p.sold <> s.sold ORDER BY p.sku"
)

// wantSums checks that the database's counts are the sums of its orders.
func (p place) wantSums(t testing.TB) {
	t.Helper()
	p.wantLines(t, unequal)
}

// MySQL takes the statements for MariaDB, on which the tests run.
func TestStatementsAreMySQL(t *testing.T) {
	all, err := stock.Statements()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if bad := sqlserver.NotMySQL(s); bad != nil {
			t.Errorf("%q in %s", bad, s)
		}
	}
}

// Several processes make the tables of one SQLite file at the same moment: each
// migration is applied once, so that none takes away what a later one has added.
func TestMigrateTogether(t *testing.T) {
	for range 5 {
		dsn := sqliteDSN(filepath.Join(t.TempDir(), "db"))
		var group sync.WaitGroup
		for range 4 {
			p := newPlace(t, sqlserver.Connect(t, "sqlite", dsn), stock.SQLite)
			group.Go(func() {
				if err := p.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		p := newPlace(t, sqlserver.Connect(t, "sqlite", dsn), stock.SQLite)
		p.wantLines(t, "SELECT version_id, COUNT(*) FROM stock_schema WHERE version_id > 0 GROUP BY version_id HAVING COUNT(*) > 1")
		p.wantLines(t, "SELECT price FROM product")
	}
}
