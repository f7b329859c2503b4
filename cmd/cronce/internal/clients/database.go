package clients

import (
	"cmp"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/jobs/stock"
)

// Bounds for the connections of a shop, whose jobs run one at a time.
const (
	maxConnections     = 4
	connectionLifetime = 5 * time.Minute
)

// Database opens the database of the shop without connecting. Its error does not repeat the DSN,
// which holds a password. If dry is set, it reads no secrets.
func Database(c *config.Config, dry bool) (*sql.DB, stock.Dialect, error) {
	if dry {
		db, err := sql.Open("sqlite", "file::memory:")
		return db, stock.SQLite, err
	}
	connector, dialect, err := c.DatabaseConnector()
	if err != nil {
		return nil, 0, err
	}
	if connector == nil {
		db, err := SQLiteFile(cmp.Or(c.Shop.Database.File, config.DefaultDatabase))
		if err != nil {
			return nil, 0, c.Fault("shop.database.file", "%v", err)
		}
		return db, stock.SQLite, nil
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	db.SetConnMaxLifetime(connectionLifetime)
	return db, dialect, nil
}

// All connections of the driver share one logger in a package variable without a lock, so it is set
// before the first connection.
var _ = mysql.SetLogger(noLog{})

// SQLiteFile opens an SQLite database that only this user may read, since it holds the addresses of
// buyers. It syncs each commit to the disk.
func SQLiteFile(name string) (*sql.DB, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is a %s, must be a regular file", boundedfile.Kind(info.Mode()))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("names a file that cannot be used: %w", boundedfile.WithoutName(err)) // the name may be a DSN in the wrong place
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"}
	return sql.Open("sqlite", u.String())
}
