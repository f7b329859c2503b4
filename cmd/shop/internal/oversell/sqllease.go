package oversell

import (
	"context"
	"errors"

	"github.com/cronce/cronce/lock/sqllock"
)

// The strategy sql-lease is [Lock] with the lease as a row of the database of the stock. During the
// work it holds neither a transaction nor a connection, and a paused process blocks the others no
// longer than its lease.

func (e *Env) leases() (*sqllock.Driver, error) {
	dialect := map[Dialect]sqllock.Dialect{SQLite: sqllock.SQLite, MySQL: sqllock.MySQL, PostgreSQL: sqllock.PostgreSQL}[e.Tables.Dialect]
	return sqllock.New(e.Tables.DB, dialect, sqllock.Options{Namespace: e.Run})
}

func (e *Env) openSQLLease() (Strategy, func(), error) {
	d, err := e.leases()
	if err != nil {
		return nil, nil, err
	}
	return e.lockOn(d, "sql-lease", e.Tables.Shelf("sql-lease")), nothing, nil
}

// makeLeases creates the tables of package sqllock if they are missing. Other applications may
// share them, so they are never dropped.
func (e *Env) makeLeases(ctx context.Context) error {
	d, err := e.leases()
	if err != nil {
		return err
	}
	return d.CreateTables(ctx)
}

// forgetLeases removes the rows of this run from the tables of package sqllock.
func (e *Env) forgetLeases(ctx context.Context) error {
	var errs []error
	for _, table := range []string{"cronce_leases", "cronce_places"} {
		_, err := e.Tables.DB.ExecContext(ctx, e.Tables.Dialect.Bind("DELETE FROM "+table+" WHERE ns = ?"), e.Run)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
