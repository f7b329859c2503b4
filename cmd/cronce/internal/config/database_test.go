package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The shop connects with the DSN that its file has at that time, to the same kind of database.
func TestDSNRotation(t *testing.T) {
	dsn := filepath.Join(t.TempDir(), "dsn")
	write := func(text string) {
		if err := os.WriteFile(dsn, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mysql://one:x@127.0.0.1:1/db\n")
	c := Default(nil)
	var reported []string
	c.OnStale(func(err error) { reported = append(reported, err.Error()) })
	first, dialect, err := connectorOf("mysql://one:x@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := c.rereadDSN(dsn, dialect)
	if err != nil {
		t.Fatal(err)
	}
	if connector.Driver() != first.Driver() {
		t.Error("another driver")
	}
	at := func() string { _, err := connector.Connect(t.Context()); return fmt.Sprint(err) }
	if got := at(); !strings.Contains(got, "127.0.0.1:1:") {
		t.Error(got)
	}
	write("mysql://two:x@127.0.0.1:2/db\n")
	if got := at(); !strings.Contains(got, "127.0.0.1:2:") {
		t.Error(got)
	}
	write("postgres://two:s3cr3t@127.0.0.1:3/db\n")
	if got := at(); !strings.Contains(got, "127.0.0.1:2:") || len(reported) != 1 || strings.Contains(reported[0], "s3cr3t") {
		t.Errorf("%s, reported %q", got, reported)
	}
}

// A DSN holds a password, which no error repeats.
func TestConnectorOf(t *testing.T) {
	for _, c := range []struct{ dsn, dialect string }{
		{"postgres://u:secret@127.0.0.1:1/db", "postgres"},
		{"postgresql://u:secret@127.0.0.1:1/db?sslmode=disable", "postgres"},
		{"mysql://u:secret@127.0.0.1/db", "mysql"},
		{"mariadb://u:secret@127.0.0.1:1/db?timeout=1s", "mysql"},
		{"u:secret@tcp(127.0.0.1:1)/db", "mysql"},
		{"postgres://u:secret@127.0.0.1:port/db", ""},
		{"mysql://u:secret@127.0.0.1:1/", ""},
		{"mysql://u:sec%ret@127.0.0.1:1/db", ""},
		{"oracle://u:secret@127.0.0.1/db", ""},
		{"secret", ""},
	} {
		_, dialect, err := connectorOf(c.dsn)
		if (err == nil) != (c.dialect != "") || err == nil && dialect.String() != c.dialect {
			t.Errorf("%s: %v, %v, want %q", c.dsn, dialect, err, c.dialect)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
