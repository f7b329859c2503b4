package shop

import (
	"cmp"
	"database/sql"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/jobs/stock"
)

// maxConnections bounds the connections of a shop, whose jobs run one at a time.
const maxConnections = 4

var dialects = map[database.Dialect]stock.Dialect{database.PostgreSQL: stock.PostgreSQL, database.MySQL: stock.MySQL, database.SQLite: stock.SQLite}

// openDatabase opens the database of the orders without connecting. Its error does not repeat the
// DSN, which may hold a password.
func openDatabase(f *settings.File) (*sql.DB, stock.Dialect, error) {
	d := f.Shop.Database
	secret, err := f.ReadSecret("shop.database.dsn", d.DSNFile, d.DSNEnv, settings.DSNEnv)
	if err != nil {
		return nil, 0, err
	}
	if d.File != "" && secret.Text() != "" { // from the default variable: settings refuses the others beside a file
		return nil, 0, f.Fault("shop.database.file", "is %q, and %s is set: give one of the two", d.File, settings.DSNEnv)
	}
	if secret.Text() == "" {
		db, err := clients.SQLiteFile(cmp.Or(d.File, settings.DefaultDatabase))
		if err != nil {
			return nil, 0, f.Fault("shop.database.file", "%v", err)
		}
		return db, stock.SQLite, nil
	}
	dsn, err := config.ParseDSN(secret.Text())
	if err != nil {
		return nil, 0, f.Fault("shop.database", "the DSN %v", err)
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
