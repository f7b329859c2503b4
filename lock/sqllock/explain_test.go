package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// An explanation is the text with which a driver must explain why a data source cannot be used.
type explanation struct {
	dialect     sqllock.Dialect
	driver, dsn string
	want        string
}

// The explanation of a refusal, or of a database that cannot be reached, contains no address, no
// user, no key and no password.
func TestExplain(t *testing.T) {
	t.Parallel()
	for database, all := range map[string]func(*testing.T) map[string]explanation{
		"PostgreSQL": explainedByPostgres, "MariaDB": explainedByMariaDB, "SQLite": explainedBySQLite,
	} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			for name, e := range all(t) {
				explained(t, database+", "+name, e)
			}
		})
	}
}

func explained(t *testing.T, name string, e explanation) {
	t.Helper()
	d := newDriver(t, sqlserver.Connect(t, e.driver, e.dsn), e.dialect, sqllock.Options{})
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	_, err := d.Acquire(ctx, driver.Acquisition{Key: "a new key", Owner: "a/1", TTL: time.Minute})
	if err == nil || isHeld(err) {
		t.Errorf("%s: the answer is %v, want doubt", name, err)
		return
	}
	got := d.Explain(err)
	if !strings.Contains(got, e.want) || e.want == "" && got != "" {
		t.Errorf("%s: %v is explained as %q, want %q", name, err, got, e.want)
	}
	for _, secret := range []string{"127.0.0.1", "reader", "guess", "a new key", os.TempDir()} {
		if strings.Contains(got, secret) {
			t.Errorf("%s: %q contains %q", name, got, secret)
		}
	}
}

// A pooler shares sessions. A connection then gets a session without its prepared statements, or with statements of another
// connection under the same names.
func TestExplainSharedSession(t *testing.T) {
	t.Parallel()
	on := postgres(t)
	one, other := on.connect(t), on.connect(t)
	one.SetMaxOpenConns(1)
	other.SetMaxOpenConns(1)
	d := newDriver(t, one, on.dialect, sqllock.Options{})
	a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
	_, err := d.Acquire(t.Context(), a)
	must(t, err)
	for name := range strings.FieldsSeq(texts(t, one, "SELECT name FROM pg_prepared_statements WHERE name LIKE 'stmtcache%'")) {
		_, err := other.Exec(`PREPARE "` + name + `" AS SELECT 1`)
		must(t, err)
	}
	_, err = one.Exec("DO 'BEGIN EXECUTE ''DEALLOCATE ALL''; END'")
	must(t, err)
	for code, d := range map[string]*sqllock.Driver{"26000": d, "42P05": newDriver(t, other, on.dialect, sqllock.Options{})} {
		_, err := d.Acquire(t.Context(), a)
		if got := d.Explain(err); err == nil || !strings.Contains(err.Error(), code) || !strings.Contains(got, "default_query_exec_mode=cache_describe") {
			t.Errorf("%v, which must be the code %s, is explained as %q", err, code, got)
		}
	}
}

// PgBouncer answers with one code, whatever it refuses. With pool_mode = statement it passes on all statements that begin no
// transaction, so Check begins one: without transactions a lease is granted, and not renewed.
func TestExplainPooler(t *testing.T) {
	t.Parallel()
	on := postgres(t)
	db, l := on.lossyOn(t)
	answer := &pgconn.PgError{Severity: "FATAL", Code: "08P01"}
	l.Before = func(query string) error {
		if query == "COMMIT" {
			return answer
		}
		return nil
	}
	d := newDriver(t, db, on.dialect, sqllock.Options{})
	for message, c := range map[string]struct {
		want  string
		unfit bool
	}{
		"transaction blocks not allowed in statement pooling mode":            {"pool_mode to transaction", true},
		"no more connections allowed (max_client_conn)":                       {"no connection left", false},
		"server login has been failing, try again later (server_login_retry)": {"server_login_retry", false},
		"something else": {"", false},
	} {
		answer.Message = message
		err := d.Check(t.Context())
		text := d.Explain(err)
		if c.unfit {
			text = fmt.Sprint(err)
		}
		if err == nil || errors.Is(err, driver.ErrUnfit) != c.unfit || !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%v is explained as %q, want %q", err, text, c.want)
		}
	}
}

// empty returns an address at which nothing answers.
func empty(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// hangsUp returns an address at which each connection is closed at once.
func hangsUp(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func explainedByPostgres(t *testing.T) map[string]explanation {
	s := sqlserver.Postgres(t)
	on := made(t, database{"", sqllock.PostgreSQL, s.Driver(), s.DSN(s.Create(t))})
	db := on.connect(t)
	for _, statement := range []string{"CREATE ROLE reader LOGIN PASSWORD 'pw'", "CREATE ROLE outsider LOGIN", "CREATE DATABASE bare", "CREATE DATABASE shut ALLOW_CONNECTIONS false"} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	must(t, os.WriteFile(filepath.Join(s.Dir(), "data", "pg_hba.conf"),
		[]byte("host all cronce 127.0.0.1/32 trust\nhost all reader 127.0.0.1/32 scram-sha-256\nhostssl all outsider 127.0.0.1/32 trust\n"), 0o600))
	_, err := db.Exec("SELECT pg_reload_conf()")
	must(t, err)
	as := func(user string) string { return strings.Replace(on.dsn, "cronce@", user+"@", 1) }
	eventually(t, "the server asks for passwords", func() bool {
		return sqlserver.Connect(t, on.driver, as("reader:guess")).Ping() != nil
	})
	name := on.dsn[strings.LastIndex(on.dsn, "/"):strings.Index(on.dsn, "?")]
	e := func(dsn, want string) explanation { return explanation{on.dialect, on.driver, dsn, want} }
	return map[string]explanation{
		"wrong password":      e(as("reader:guess"), "password is wrong"),
		"may not":             e(as("reader:pw"), "lacks a right"),
		"only with TLS":       e(as("outsider"), "only with TLS"),
		"TLS to a plain port": e(strings.Replace(on.dsn, "sslmode=disable", "sslmode=require", 1), "does not support it"),
		"unknown parameter":   e(strings.Replace(on.dsn, "sslmode=disable", "foo=bar", 1), "does not know a parameter"),
		"bad parameter":       e(strings.Replace(on.dsn, "sslmode=disable", "statement_timeout=abc", 1), "does not take the value"),
		"read-only":           e(on.dsn+"&default_transaction_read_only=on", "takes no writes"),
		"no tables":           e(strings.Replace(on.dsn, name, "/bare", 1), "tables are missing"),
		"no database":         e(strings.Replace(on.dsn, name, "/nosuch", 1), "no such database"),
		"an unexplained code": e(strings.NewReplacer(name, "/shut", "?sslmode=disable", "").Replace(on.dsn), ""), // not by TLS, which is tried first
		"nothing there":       e(s.DSNAt(empty(t), "x"), "refuses connections"),
		"hangs up":            e(s.DSNAt(hangsUp(t), "x"), "broke"),
	}
}

func explainedByMariaDB(t *testing.T) map[string]explanation {
	s := sqlserver.MariaDB(t)
	on := made(t, database{"", sqllock.MySQL, s.Driver(), s.DSN(s.Create(t)) + "?interpolateParams=true"})
	name := on.dsn[strings.LastIndex(on.dsn, "/"):strings.Index(on.dsn, "?")]
	db := on.connect(t)
	for _, statement := range []string{
		"CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'pw'", "CREATE USER outsider@'127.0.0.1' REQUIRE SSL", "CREATE DATABASE bare",
	} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	as := func(user string) string { return strings.Replace(on.dsn, "cronce@", user+"@", 1) }
	e := func(dsn, want string) explanation { return explanation{on.dialect, on.driver, dsn, want} }
	return map[string]explanation{
		"wrong password":      e(as("reader:guess"), "password is wrong"),
		"may not":             e(as("reader:pw"), "lacks a right"),
		"only with TLS":       e(as("outsider"), "password is wrong, or the server accepts this user only with TLS"), // the server does not say which
		"TLS to a plain port": e(on.dsn+"&tls=skip-verify", "does not support it"),
		"unknown parameter":   e(on.dsn+"&foo=1", "does not know a parameter"),
		"bad parameter":       e(on.dsn+"&sql_mode='abc'", "does not take the value"),
		"bad type":            e(on.dsn+"&lock_wait_timeout='abc'", "does not take the value"),
		"read-only":           e(on.dsn+"&tx_read_only=1", "takes no writes"),
		"no commits":          e(on.dsn+"&autocommit=0", "does not commit"),
		"no tables":           e(strings.Replace(on.dsn, name, "/bare", 1), "tables are missing"),
		"no database":         e(strings.Replace(on.dsn, name, "/nosuch", 1), "no such database"),
		"nothing there":       e(s.DSNAt(empty(t), "x"), "refuses connections"),
		"hangs up":            e(s.DSNAt(hangsUp(t), "x"), "broke"),
	}
}

func explainedBySQLite(t *testing.T) map[string]explanation {
	on := sqlite(t)
	file, _, _ := strings.Cut(strings.TrimPrefix(on.dsn, "file:"), "?")
	foul := filepath.Join(t.TempDir(), "foul")
	must(t, os.WriteFile(foul, []byte(strings.Repeat("no database ", 100)), 0o600))
	e := func(dsn, want string) explanation { return explanation{on.dialect, on.driver, dsn, want} }
	return map[string]explanation{
		"full":        e(fill(t, on), "is full"),
		"read-only":   e("file:"+file+"?mode=ro", "may not write"),
		"no tables":   e("file:"+filepath.Join(t.TempDir(), "bare"), "tables are missing"),
		"no database": e("file:"+foul, "not a database"),
		"no folder":   e("file:"+filepath.Join(t.TempDir(), "nosuch", "db"), "cannot be opened"),
	}
}

// fill returns a database that has no page left.
func fill(t *testing.T, on database) (dsn string) {
	t.Helper()
	dsn = sqlite(t).dsn + "&_pragma=max_page_count(1)" // no more pages than the database has
	d := newDriver(t, sqlserver.Connect(t, on.driver, dsn), on.dialect, sqllock.Options{})
	for i := range 10_000 {
		if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: fmt.Sprint("k", i), Owner: "a/1", TTL: time.Minute}); err != nil {
			return dsn
		}
	}
	t.Fatal("the database is not full")
	return ""
}

// If the holders in the row of a key cannot be read, only that key fails.
func TestUnreadableHolders(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		for _, key := range []string{"foul", "good"} {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "a/1", TTL: minute, Limit: 3})
			must(t, err)
		}
		_, err := db.Exec("UPDATE cronce_leases SET holders = 'no JSON' WHERE name = 'foul'")
		must(t, err)
		for key, unreadable := range map[string]bool{"foul": true, "good": false} {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "a/2", TTL: minute, Limit: 3})
			if errors.Is(err, driver.ErrUnreadable) != unreadable || unreadable && d.Explain(err) == "" {
				t.Errorf("%s: %v, explained as %q", key, err, d.Explain(err))
			}
		}
	})
}

// A user without the right to write is refused, whatever the request. A server does not refuse if
// it is not there, rejects the login, or accepts no writes now, as a former primary does: the
// request is repeated. In none of these cases was a claim granted, and the error says so.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for database, all := range map[string]func(*testing.T) map[string]refusal{
		"PostgreSQL": refusedByPostgres, "MariaDB": refusedByMariaDB, "SQLite": refusedBySQLite,
	} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			for name, r := range all(t) {
				d := newDriver(t, sqlserver.Connect(t, r.driver, r.dsn), r.dialect, sqllock.Options{})
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
				opened := d.Open(ctx, []series.OpenRequest{{Key: "a new key", Node: "n"}})[0].Err
				ended := d.ReleaseRuns(ctx, []series.EndRequest{{RunRef: r.run, Outcome: series.OutcomeOK, OK: true}})[0].Err
				claimed := d.Claim(ctx, []series.Claim{{Key: r.run.Key, Owner: "n/2", Number: r.run.Number + 1, TTL: time.Minute, Latest: driver.MaxNumber}})[0]
				stop()
				if claimed.Err == nil || !errors.Is(claimed.Err, driver.ErrNotDone) {
					t.Errorf("%s: a claim is answered %+v, want an error that is ErrNotDone", name, claimed)
				}
				if opened == nil || d.Refuses(opened) != r.want || errors.Is(opened, driver.ErrUnreadable) {
					t.Errorf("%s: an opening is answered %v, which is a refusal: %v", name, opened, d.Refuses(opened))
				}
				if ended == nil || d.Refuses(ended) != r.want {
					t.Errorf("%s: an end is answered %v, which is a refusal: %v", name, ended, d.Refuses(ended))
				}
				if d.Refuses(nil) {
					t.Errorf("%s: no error is a refusal", name)
				}
			}
		})
	}
}

// A coded is an error of SQLite.
type coded int

func (c coded) Error() string { return fmt.Sprint("code ", int(c)) }
func (c coded) Code() int     { return int(c) }

// Codes are recognised in the forms that these databases do not give in the other tests: extended ones of SQLite, and
// the ones of a MySQL that gives no SQLSTATE.
func TestExplainCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		want    string
		refuses bool
	}{
		{coded(8 | 3<<8), "may not write", true}, // SQLITE_READONLY_CANTLOCK
		{coded(5 | 2<<8), "busy", false},         // SQLITE_BUSY_SNAPSHOT
		{coded(3), "may not use the file", true},
		{errors.New("Error 1142: INSERT command denied"), "lacks a right", true},
		{errors.New("Error 1142 (42000): INSERT command denied"), "lacks a right", true},
		{errors.New("Error 11421: unknown"), "", false},
	} {
		d := new(sqllock.Driver)
		if got := d.Explain(c.err); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || d.Refuses(c.err) != c.refuses {
			t.Errorf("%v: explained as %q, a refusal: %v, want %q, %v", c.err, got, d.Refuses(c.err), c.want, c.refuses)
		}
	}
}

// A refusal is a data source, and whether the answer of its database to a driver is a refusal.
type refusal struct {
	run series.RunRef // a run that is open
	database
	dsn  string
	want bool
}

// begun opens a series and has a run of it granted.
func begun(t *testing.T, on database) series.RunRef {
	t.Helper()
	d := newDriver(t, made(t, on).connect(t), on.dialect, sqllock.Options{})
	opened := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0]
	must(t, opened.Err)
	waitOn(t, d, 5*time.Millisecond)
	c := series.Claim{Key: "job", Owner: "n/1", Number: opened.Mark + 1, After: opened.Mark, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
	a := d.Claim(t.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("the answer is %+v", a)
	}
	return series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
}

func refusedByPostgres(t *testing.T) map[string]refusal {
	s := sqlserver.Postgres(t)
	on := database{"", sqllock.PostgreSQL, s.Driver(), s.DSN(s.Create(t))}
	run := begun(t, on)
	for _, statement := range []string{"CREATE ROLE outsider LOGIN", "CREATE ROLE looker LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker"} {
		_, err := on.connect(t).Exec(statement)
		must(t, err)
	}
	as := func(user string) string { return strings.Replace(on.dsn, "cronce@", user+"@", 1) }
	return map[string]refusal{
		"no right":       {run, on, as("outsider"), true},
		"may only look":  {run, on, as("looker"), true},
		"unknown user":   {run, on, as("nosuch"), false},
		"read-only":      {run, on, on.dsn + "&default_transaction_read_only=on", false},
		"nothing there":  {run, on, s.DSNAt(empty(t), "x"), false},
		"no such tables": {run, on, s.DSN(s.Create(t)), false},
	}
}

func refusedByMariaDB(t *testing.T) map[string]refusal {
	s := sqlserver.MariaDB(t)
	on := database{"", sqllock.MySQL, s.Driver(), s.DSN(s.Create(t)) + "?interpolateParams=true"}
	run := begun(t, on)
	name := on.dsn[strings.LastIndex(on.dsn, "/")+1 : strings.Index(on.dsn, "?")]
	for _, statement := range []string{ // the user of the tests has every right but the right to grant one
		"CREATE USER outsider@'127.0.0.1'", "CREATE USER looker@'127.0.0.1'",
		"INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('127.0.0.1', '" + name + "', 'looker', 'Y')", "FLUSH PRIVILEGES",
	} {
		_, err := on.connect(t).Exec(statement)
		must(t, err)
	}
	as := func(user string) string { return strings.Replace(on.dsn, "cronce@", user+"@", 1) }
	return map[string]refusal{
		"no right":      {run, on, as("outsider"), true},
		"may only look": {run, on, as("looker"), true},
		"unknown user":  {run, on, as("nosuch:guess"), false},
		"read-only":     {run, on, on.dsn + "&tx_read_only=1", false},
		"nothing there": {run, on, s.DSNAt(empty(t), "x"), false},
	}
}

func refusedBySQLite(t *testing.T) map[string]refusal {
	on := sqlite(t)
	run := begun(t, on)
	file, _, _ := strings.Cut(strings.TrimPrefix(on.dsn, "file:"), "?")
	return map[string]refusal{
		"a file to read": {run, on, "file:" + file + "?mode=ro", true},
		"no folder":      {run, on, "file:" + filepath.Join(t.TempDir(), "nosuch", "db"), false},
	}
}
