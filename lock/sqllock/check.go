package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Check reports whether the database is fit for a [Driver]: it can be written to, it has the
// tables, and its settings keep the promises of the package. Check writes nothing. The error joins
// everything that Check found; an error that is not a *SettingError is doubt.
func (d *Driver) Check(ctx context.Context) error {
	within := withSession[none]
	if d.grammar.dialect == PostgreSQL {
		within = step[none] // so that a pooler that allows no transactions refuses it
	}
	switch _, err := within(ctx, d, func(s session) (none, error) { return none{}, d.tables(ctx, s) }); {
	case err != nil && explainCode(err) == statementMode:
		return &SettingError{Setting: "pool_mode", Fix: statementMode}
	case err != nil:
		return failed("check", err)
	}
	var found []error
	is, err := d.version(ctx)
	switch {
	case err != nil:
		return failed("check", fmt.Errorf("the version of the tables (see CreateTables): %w", err))
	case is > version:
		found = append(found, newer(is))
	case is < version:
		found = append(found, &SettingError{Setting: "cronce_version",
			Fix: fmt.Sprintf("the tables have version %d, and this program needs %d: run cronce migrate, or see CreateTables, or use the program that made them", is, version)})
	}
	for _, s := range settings[d.grammar.dialect] {
		bad, err := withSession(ctx, d, func(on session) (bool, error) { return s.bad(ctx, on, &d.grammar) })
		switch {
		case err != nil:
			return failed("check", err)
		case bad:
			found = append(found, &SettingError{Setting: s.name, Fix: s.fix})
		}
	}
	return errors.Join(found...)
}

// CheckStore is [Driver.Check] for a scheduler: a *SettingError is lock.ErrUnfit. A risk is a
// setting that makes a crash, or a process that stops, cost more than necessary.
func (d *Driver) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	if err := d.Check(ctx); err != nil {
		return nil, err
	}
	var found []driver.Risk
	for _, h := range hazards[d.grammar.dialect] {
		bad, err := withSession(ctx, d, func(on session) (bool, error) { return h.bad(ctx, on, &d.grammar) })
		switch {
		case err != nil:
			return nil, failed("check", err)
		case bad:
			found = append(found, driver.Risk{Topic: h.name, Text: h.text, Fix: h.fix})
		}
	}
	return found, nil
}

// A SettingError names a setting of the database that breaks a promise. For errors.Is it is
// lock.ErrUnfit.
type SettingError struct {
	Setting string // the name of the setting
	Fix     string // how to correct it
}

func (e *SettingError) Error() string { return fmt.Sprintf("sqllock: %s: %s", e.Setting, e.Fix) }

// Is reports whether target is lock.ErrUnfit.
func (e *SettingError) Is(target error) bool { return target == driver.ErrUnfit }

// newer is the error of tables that a newer program made.
func newer(is int64) *SettingError {
	return &SettingError{Setting: "cronce_version", Fix: fmt.Sprintf("the tables have version %d, and this program knows %d: use a newer cronce", is, version)}
}

// allTables are the tables that a Driver writes to, as texts of a query.
const allTables = "'cronce_leases', 'cronce_places', 'cronce_series', 'cronce_journal', 'cronce_nodes', 'cronce_taken', 'cronce_audit', 'cronce_outputs'"

// tables runs a query on each table that returns no rows of the table: it fails if the table is
// missing.
func (d *Driver) tables(ctx context.Context, s session) error {
	for table := range strings.SplitSeq(allTables, ", ") {
		table = strings.Trim(table, "'")
		var n int
		err := s.QueryRowContext(ctx, d.grammar.text("SELECT count(*) FROM "+table+" WHERE ns = ''")).Scan(&n)
		if err != nil {
			return fmt.Errorf("table %s (see CreateTables): %w", table, err)
		}
	}
	return nil
}

// A setting is bad if its query returns 1 or more. A setting that the database does not have is not bad:
// MySQL has announced the removal of binlog_format.
type setting struct{ name, query, fix string }

func (s *setting) bad(ctx context.Context, on session, g *grammar) (bool, error) {
	var is sql.NullInt64
	err := on.QueryRowContext(ctx, g.named(s.query)).Scan(&is)
	if err != nil && strings.Contains(err.Error(), "Error 1193") { // MySQL: unknown variable
		return false, nil
	}
	return is.Int64 > 0, err
}

// maxBusy limits how long SQLite may wait for its lock; it does not react to a context while it
// waits.
const maxBusy = 5 * time.Second

var settings = map[Dialect][]setting{
	PostgreSQL: {
		{"recovery", "SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END",
			"this is a replica: use the server that accepts writes"},
		{"server_encoding", "SELECT CASE WHEN current_setting('server_encoding') = 'UTF8' THEN 0 ELSE 1 END",
			"use a database with the encoding UTF8"},
		{"transaction_read_only", "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' AND NOT pg_is_in_recovery() THEN 1 ELSE 0 END",
			"the database, the user or the data source name sets default_transaction_read_only, as services do while the disk is full: turn it off"},
		{"privileges", "SELECT count(*) FROM unnest(ARRAY[" + allTables + "]) AS t(name), unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) AS p(privilege)" +
			" WHERE NOT has_table_privilege(t.name, p.privilege)", "grant the user INSERT, UPDATE and DELETE on each table whose name begins with cronce_, except cronce_version"},
	},
	MySQL: {
		{"autocommit", "SELECT NOT (" + commits + ")",
			"connect with autocommit=1 and completion_type=NO_CHAIN: a statement that is not committed grants a key twice"},
		{"read_only", "SELECT @@read_only", "this is a replica: use the server that accepts writes"},
		{"sysdate-is-now", "SELECT sysdate(6) = now(6) FROM (SELECT sleep(0.01) AS slept) s",
			"start the server without it: the clock must be read after the wait for a row"},
		{"binlog_format", "SELECT @@log_bin = 1 AND @@binlog_format = 'STATEMENT'", "set it to ROW or MIXED"},
		{"ENGINE", "SELECT count(*) > 0 FROM information_schema.tables WHERE table_schema = database()" +
			" AND table_name IN (" + allTables + ") AND engine <> 'InnoDB'", "make the tables with InnoDB"},
	},
	SQLite: {
		{"busy_timeout", fmt.Sprintf("SELECT timeout > %d FROM pragma_busy_timeout", maxBusy.Milliseconds()),
			fmt.Sprintf("set it to at most %v: SQLite ignores contexts while it waits", maxBusy)},
		{"query_only", "SELECT query_only FROM pragma_query_only", "turn it off"},
	},
}

// A hazard is a setting that breaks a promise only in some event, such as a crash.
type hazard struct {
	setting
	text string // the event, and the promise that it breaks
}

const forgets = "after a crash the server may have forgotten leases that it granted, and grant them to other owners"

var hazards = map[Dialect][]hazard{
	PostgreSQL: {
		{setting{"fsync", "SELECT CASE WHEN 'off' IN (current_setting('fsync'), current_setting('synchronous_commit')) THEN 1 ELSE 0 END",
			"turn fsync and synchronous_commit on"}, forgets},
	},
	MySQL: {
		{setting{"innodb_flush_log_at_trx_commit", "SELECT @@innodb_flush_log_at_trx_commit <> 1", "set it to 1"}, forgets},
		{setting{"idle_transaction_timeout", "SELECT @@idle_transaction_timeout = 0", "set it to 5 in the data source name"},
			"a process that stops in the middle of a transaction blocks its row for all others until its connection breaks"},
	},
	SQLite: {
		{setting{"synchronous", "SELECT synchronous < 2 FROM pragma_synchronous", "set it to full"}, forgets},
	},
}
