package database_test

import (
	"os"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

// The clock of a server with daylight saving time is read in the hour that occurs twice: each of
// the two hours has its own time.
func TestNowInRepeatedHour(t *testing.T) {
	if _, err := os.Stat("/usr/share/zoneinfo/Europe/Berlin"); err != nil {
		serverprocess.Missing(t, "the time zone Europe/Berlin", "tzdata")
	}
	t.Setenv("TZ", "Europe/Berlin")
	s := sqlserver.MariaDB(t, "--sysdate-is-now")
	conn, err := s.Open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	for _, at := range []time.Time{first, first.Add(time.Hour)} {
		if _, err := conn.ExecContext(t.Context(), "SET timestamp = ?", at.Unix()); err != nil {
			t.Fatal(err)
		}
		var local string
		var now int64
		if err := conn.QueryRowContext(t.Context(), "SELECT TIME(NOW()), "+database.MySQL.Now()).Scan(&local, &now); err != nil {
			t.Fatal(err)
		}
		if local != "02:30:00" {
			t.Fatalf("it is %s there, want the hour that comes twice", local)
		}
		if got := time.UnixMilli(now); !got.Equal(at) {
			t.Errorf("the clock is %v off", got.Sub(at))
		}
	}
}

// Now returns the time, in milliseconds, on each database.
func TestNow(t *testing.T) {
	for _, c := range []struct {
		dialect database.Dialect
		shared  func(testing.TB) *sqlserver.Server
	}{{database.MySQL, sqlserver.SharedMariaDB}, {database.PostgreSQL, sqlserver.SharedPostgres}} {
		t.Run(c.dialect.String(), func(t *testing.T) {
			var now int64
			if err := c.shared(t).Open(t).QueryRowContext(t.Context(), "SELECT "+c.dialect.Now()).Scan(&now); err != nil {
				t.Fatal(err)
			}
			if off := time.Since(time.UnixMilli(now)).Abs(); off > 10*time.Minute {
				t.Errorf("the clock is %v off", off)
			}
		})
	}
}

func TestBind(t *testing.T) {
	const query = "SELECT a FROM b WHERE c = ? AND d = ?"
	for d, want := range map[database.Dialect]string{
		database.SQLite: query, database.MySQL: query, database.PostgreSQL: "SELECT a FROM b WHERE c = $1 AND d = $2",
	} {
		if got := d.Bind(query); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
