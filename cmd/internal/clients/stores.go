package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/scheduler"
)

// maxStoreConnections bounds the connections of one process to a database that is the store.
const maxStoreConnections = 16

// openDatabase opens a PostgreSQL, MySQL or MariaDB.
func (s *Store) openDatabase() error {
	d, err := s.Config.StoreDSN()
	if err != nil {
		return exit.Usage(err)
	}
	db, err := OpenDatabase(d, maxStoreConnections)
	if err != nil {
		return exit.Usage(s.Config.Fault("store", "%v", err))
	}
	return s.useDatabase(db, map[database.Dialect]sqllock.Dialect{database.PostgreSQL: sqllock.PostgreSQL, database.MySQL: sqllock.MySQL}[d.Dialect])
}

// openSQLite opens an existing file. Only a node and the command migrate create it.
func (s *Store) openSQLite(a config.StoreAddress) error {
	if err := placed(a); err != nil {
		return err
	}
	if _, err := os.Stat(a.File); errors.Is(err, fs.ErrNotExist) {
		if a.Default {
			return exit.Usagef("no store is configured, and there is no file %s, which a node without one makes: set --store or --redis", a.File)
		}
		return exit.Usage(s.Config.Fault("store", "names the file %s, which does not exist: a node, or cronce migrate, makes it", a.File))
	}
	return s.useSQLite(networkFilesystem(a.File), a.File)
}

// useSQLite uses a file on a network file system; "" is any other file system.
func (s *Store) useSQLite(on, file string) error {
	if on != "" {
		return exit.Usage(s.Config.Fault("store", "is a file on %s, on which the locks of SQLite do not hold: use a local disk", on))
	}
	db, err := SQLiteFile(file)
	if err != nil {
		return exit.Usage(s.Config.Fault("store", "%v", err))
	}
	return s.useDatabase(db, sqllock.SQLite)
}

func (s *Store) useDatabase(db *sql.DB, dialect sqllock.Dialect) error {
	c := s.Config
	d, err := sqllock.New(db, dialect, sqllock.Options{Namespace: c.Namespace, JournalLines: c.Redis.JournalLines, JournalBytes: c.Redis.JournalBytes})
	if err != nil {
		_ = db.Close()
		return exit.Usage(err)
	}
	s.Driver, s.close = d, func() { _ = db.Close() }
	return nil
}

func (s *Store) openZooKeeper(a config.StoreAddress) error {
	c := s.Config
	user, password, err := c.StoreUser()
	if err != nil {
		return exit.Usage(err)
	}
	o := zklock.Options{Namespace: c.Namespace, JournalLines: c.Redis.JournalLines, JournalBytes: c.Redis.JournalBytes}
	if user != "" {
		o.Scheme, o.Auth = "digest", []byte(user+":"+password.Text())
	}
	d, err := zklock.New(a.Servers, o)
	if err != nil {
		return exit.Usage(err)
	}
	s.Driver = d
	return nil
}

// placed refuses a store that no configuration names and whose file depends on the directory of each process.
func placed(a config.StoreAddress) error {
	if a.Default && !filepath.IsAbs(a.File) {
		return exit.Usagef("no store is configured, and its file would be %s, another one in each directory: set store or redis.url, or HOME to an absolute path", a.File)
	}
	return nil
}

// OpenForNode builds the store of a node. It creates the file of an SQLite store, and its tables.
func OpenForNode(ctx context.Context, c *config.Config) (*Store, error) {
	a := c.Address()
	switch {
	case a.Default && c.ClusterSign() != "":
		return nil, exit.Usagef("no store is configured, and $%s is set: each container would have a store of its own, and each would run every tick: set store or redis.url", c.ClusterSign())
	case a.Kind == config.StoreMemory:
		return &Store{Config: c, close: func() {}, memory: memlock.New(memlock.Options{JournalLines: c.Redis.JournalLines})}, nil
	case a.Kind == config.StoreSQLite:
		s, err := OpenToMigrate(c)
		if err != nil {
			return nil, err
		}
		if err := s.Migrate(ctx); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	return openMigrated(ctx, c)
}

// OpenToMigrate builds a store whose tables may be missing. It creates the file of an SQLite store.
func OpenToMigrate(c *config.Config) (*Store, error) {
	a := c.Address()
	if a.Kind != config.StoreSQLite {
		return NewStore(c)
	}
	if err := placed(a); err != nil {
		return nil, err
	}
	if a.Default {
		if err := os.MkdirAll(filepath.Dir(a.File), 0o700); err != nil {
			return nil, fmt.Errorf("making the state directory: %w", err)
		}
	}
	s := &Store{Config: c, close: func() {}}
	if err := s.useSQLite(networkFilesystem(a.File), a.File); err != nil {
		return nil, err
	}
	return s, nil
}

// tablesTime bounds the check of the tables of a database.
const tablesTime = 5 * time.Second

// openMigrated builds a store, and refuses a database without its tables. A program with the library
// may wait until another process creates the tables. A node must not, because an operator would not
// see why it waits.
func openMigrated(ctx context.Context, c *config.Config) (*Store, error) {
	s, err := NewStore(c)
	if err != nil {
		return nil, err
	}
	d, ok := s.Driver.(*sqllock.Driver)
	if !ok {
		return s, nil
	}
	ctx, stop := context.WithTimeout(ctx, tablesTime)
	defer stop()
	if err := d.Check(ctx); err != nil && strings.Contains(d.Explain(err), "tables") {
		s.Close()
		return nil, exit.With(exit.Refused, fmt.Errorf("%s: %s", c.StoreName(), d.Explain(err)))
	}
	return s, nil // the node reports any other fault
}

// ForScheduler returns the store of a node.
func (s *Store) ForScheduler() scheduler.Store {
	if s.memory != nil {
		return s.memory
	}
	return s.Driver
}

// Migrate creates the missing tables of a database, and updates older ones.
func (s *Store) Migrate(ctx context.Context) error {
	d, ok := s.Driver.(*sqllock.Driver)
	if !ok {
		return exit.Usagef("%s has no tables: only a database needs migrate", s.Config.StoreName())
	}
	if err := d.CreateTables(ctx); err != nil {
		return s.Failed(err)
	}
	return nil
}
