package clients

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

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
