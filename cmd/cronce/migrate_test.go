package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/sqllock"
)

// script returns the script of a database, which the tests of sqllock run, and checks that it drops no tables with data.
func script(t *testing.T, d sqllock.Dialect) string {
	t.Helper()
	text, err := sqllock.Script(d)
	if err != nil || strings.Contains(text, "goose") || strings.Contains(text, "DROP TABLE cronce_leases") {
		t.Errorf("%v: %s", err, text)
	}
	return text
}

// The tables of a database are created, and created again without harm. With --print nothing is connected to.
func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "cronce.db")
	cronce(t, "migrate", "--print", "--store", "sqlite:"+name).want(t, exit.Fine, script(t, sqllock.SQLite))
	if _, err := os.Stat(name); err == nil {
		t.Error("migrate --print makes the file")
	}
	cronce(t, "migrate", "--print", "--store", "postgres://cronce@127.0.0.1:1/shop").want(t, exit.Fine, script(t, sqllock.PostgreSQL))
	cronce(t, "migrate", "--print", "--store", "mysql://cronce@127.0.0.1:1/shop").want(t, exit.Fine, script(t, sqllock.MySQL))
	for range 2 {
		cronce(t, "migrate", "--store", "sqlite:"+name).want(t, exit.Fine, "The tables in SQLite "+name+" are up to date.\n")
	}
	db := sqlserver.Connect(t, "sqlite", "file:"+name)
	if _, err := db.Exec("UPDATE cronce_version SET version = 9"); err != nil {
		t.Fatal(err)
	}
	cronce(t, "migrate", "--store", "sqlite:"+name).want(t, exit.Refused, "the tables have version 9, and this program knows 8: use a newer cronce")
	const dead = "redis://127.0.0.1:1"
	cronce(t, "migrate", "--print", "--store", dead).want(t, exit.WrongUsage, "has no tables: only a database needs migrate")
	cronce(t, "migrate", "--store", dead).want(t, exit.WrongUsage, "has no tables")
	cronce(t, "migrate", "--store", "postgres://cronce@127.0.0.1:1/shop").want(t, exit.NotKnown)
	for _, args := range [][]string{{"migrate"}, {"migrate", "--print"}} {
		cronce(t, append(args, "--store", "ftp://x")...).want(t, exit.WrongUsage, "store: is no URL of a store")
	}
	cronce(t, "migrate", "--store", "sqlite:/nowhere/there.db").want(t, exit.WrongUsage)
}
