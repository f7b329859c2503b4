package shop

import (
	"cmp"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/jobs/stock"
)

// maxConnections bounds the connections of a shop, whose jobs run one at a time.
const maxConnections = 4

var dialects = map[database.Dialect]stock.Dialect{database.PostgreSQL: stock.PostgreSQL, database.MySQL: stock.MySQL, database.SQLite: stock.SQLite}

// openDatabase opens the database of the orders without connecting. Fresh permits an SQLite file that
// does not exist yet. The error does not repeat the DSN, which may hold a password.
func openDatabase(f *settings.File, fresh bool) (*sql.DB, stock.Dialect, error) {
	d := f.Shop.Database
	secret, err := f.ReadSecret("shop.database.dsn", d.DSNFile, d.DSNEnv, settings.DSNEnv)
	if err != nil {
		return nil, 0, err
	}
	if d.File != "" && secret.Text() != "" { // from the default variable: settings refuses the others beside a file
		return nil, 0, f.Fault("shop.database.file", "is %q, and %s is set: give one of the two", d.File, settings.DSNEnv)
	}
	if d.DSNEnv != "" && secret.Text() == "" { // otherwise orders would go to the SQLite file of this folder
		return nil, 0, f.Fault("shop.database.dsn_env", "names a variable that is empty")
	}
	if secret.Text() == "" {
		file := cmp.Or(d.File, settings.DefaultDatabase)
		if err := existing(f, file, fresh); err != nil {
			return nil, 0, err
		}
		db, err := clients.SQLiteFile(file)
		if err != nil {
			return nil, 0, f.Fault("shop.database.file", "%v", err)
		}
		return db, stock.SQLite, nil
	}
	dsn, err := config.ParseDSN(secret.Text())
	if err != nil {
		return nil, 0, f.Fault("shop.database", "the DSN %v", err)
	}
	if err := existing(f, dsn.File, fresh); err != nil {
		return nil, 0, err
	}
	if plain := dsn.InPlain(); plain != "" {
		if err := f.InPlain("shop.database", "the DSN "+plain); err != nil {
			return nil, 0, err
		}
	}
	db, err := clients.OpenDatabase(dsn, maxConnections)
	if err != nil {
		return nil, 0, f.Fault("shop.database", "the DSN %v", err)
	}
	return db, dialects[dsn.Dialect], nil
}

// existing refuses an SQLite file that does not exist, unless a fresh one is permitted; no file is a server. A new database
// would get the shelf of a store that has lost its data, and the shops' own would be refused.
func existing(f *settings.File, file string, fresh bool) error {
	if _, err := os.Stat(file); fresh || file == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.Fault("shop.database", "is the SQLite file %q, which does not exist: name the database of the shops", file)
}
