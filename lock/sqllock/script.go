package sqllock

import (
	"fmt"
	"strings"
)

// Script returns the statements that create the tables, for the database's own client: psql, mysql or mariadb, or
// sqlite3. On a database that has the tables it changes nothing; [Migrations] has the same statements for tools that
// record themselves which of them were run. On PostgreSQL and MySQL the script runs the steps that are missing, so it
// also updates tables of an older version. SQLite has no conditions for such statements: there the script creates the
// tables of a new database, and otherwise fails before it changes anything. The names of the tables begin with cronce_.
func Script(d Dialect) (string, error) {
	if _, ok := grammars[d]; !ok {
		return "", fmt.Errorf("sqllock: dialect is %v, must be PostgreSQL, MySQL or SQLite", d)
	}
	steps, err := stepsOf(d)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	switch d {
	case PostgreSQL:
		scriptPostgreSQL(&b, steps)
	case MySQL:
		scriptMySQL(&b, steps)
	case SQLite:
		scriptSQLite(&b, steps)
	}
	return b.String(), nil
}

// scriptPostgreSQL writes one statement, so that all steps happen or none, also if the client continues after errors.
func scriptPostgreSQL(b *strings.Builder, steps []migration) {
	fmt.Fprintf(b, `-- For psql. Creates the tables of cronce, version %d, or runs the steps that older tables lack.
-- Tables of this version or a newer one stay as they are.

DO $cronce$
DECLARE
  has BIGINT := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('cronce tables'));
  IF to_regclass('cronce_version') IS NOT NULL THEN
    has := (SELECT coalesce(max(version), 0) FROM cronce_version);
  END IF;
`, version)
	for _, step := range steps {
		fmt.Fprintf(b, "\n-- version %d\nIF has < %d THEN\n\n", step.number, step.number)
		for _, s := range step.statements {
			b.WriteString(s + ";\n\n")
		}
		b.WriteString("END IF;\n")
	}
	b.WriteString("\nEND\n$cronce$;\n")
}

// lockedOut is a column that does not exist, so that the client prints it: of 64 characters at most, as a name.
const lockedOut = "another client changes the tables of cronce: nothing is done"

// scriptMySQL writes each statement as a text that is prepared only if its step is missing: MySQL has conditions only
// in procedures. The client ends at the first error.
func scriptMySQL(b *strings.Builder, steps []migration) {
	quote := strings.NewReplacer("'", "''")
	run := func(condition, text, otherwise string) {
		fmt.Fprintf(b, "SET @cronce_do = if(%s, '%s', '%s');\nPREPARE cronce_do FROM @cronce_do;\nEXECUTE cronce_do;\n\n", condition, quote.Replace(text), otherwise)
	}
	fmt.Fprintf(b, `-- For mysql or mariadb. Creates the tables of cronce, version %d, or runs the steps that older tables lack.
-- Tables of this version or a newer one stay as they are. If the script is cut off within a step, it does not
-- complete that step when it runs again, but ends with an error: cronce migrate completes it.

SET @cronce_locked = coalesce(get_lock(%s, 60), 0);
`, version, tablesLock)
	run("@cronce_locked = 1", "DO 0", "DO `"+lockedOut+"`") // an error is the only way out of a script
	run("(SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'cronce_version') = 0",
		"SET @cronce_version = 0", "SET @cronce_version = (SELECT coalesce(max(version), 0) FROM cronce_version)")
	for _, step := range steps {
		fmt.Fprintf(b, "-- version %d\n\n", step.number)
		for _, s := range step.statements {
			run(fmt.Sprintf("@cronce_version < %d", step.number), s, "DO 0")
		}
	}
	b.WriteString("DEALLOCATE PREPARE cronce_do;\nDO release_lock(" + tablesLock + ");\n")
}

// scriptSQLite writes one transaction, at whose begin the client ends if the database has the tables.
func scriptSQLite(b *strings.Builder, steps []migration) {
	fmt.Fprintf(b, `-- For sqlite3. Creates the tables of cronce, version %d, in a database without them. Otherwise it changes nothing,
-- and ends with an error: cronce migrate, and each node, updates older tables.

.bail on
BEGIN IMMEDIATE;
CREATE TEMP TABLE cronce_script (has INTEGER CONSTRAINT "the database has tables of cronce, so nothing was changed" CHECK (has = 0));
INSERT INTO cronce_script SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name IN ('cronce_leases', 'cronce_version');
DROP TABLE cronce_script;

`, version)
	for _, step := range steps {
		fmt.Fprintf(b, "-- version %d\n\n", step.number)
		for _, s := range step.statements {
			b.WriteString(s + ";\n\n")
		}
	}
	b.WriteString("COMMIT;\n")
}
