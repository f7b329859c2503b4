package config

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/database"
)

func TestParseDSN(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for _, c := range []struct {
		dsn         string
		dialect     database.Dialect
		source      string // a part of it
		hasPassword bool
		inPlain     bool // to another machine, perhaps without TLS
	}{
		{"postgres://shop@db:5432/shop?sslmode=disable", database.PostgreSQL, "postgres://shop@db:5432/shop?sslmode=disable", false, true},
		{"postgresql://shop:hunter2@db/shop", database.PostgreSQL, ":hunter2@", true, true},
		{"postgres://shop@db/shop?sslmode=require", database.PostgreSQL, "", false, false},
		{"postgres://shop@localhost,db/shop?sslmode=disable", database.PostgreSQL, "", false, true},
		{"postgres://shop@localhost/shop?sslmode=disable", database.PostgreSQL, "", false, false},
		{"postgres://shop@localhost,db/shop?sslmode=require", database.PostgreSQL, "", false, false},
		{"postgres://shop@db/shop?sslmode=allow", database.PostgreSQL, "", false, true},
		{"postgres://shop@db/shop?password=hunter2", database.PostgreSQL, "", true, true},
		{"mysql://shop@db/shop", database.MySQL, "shop@tcp(db:3306)/shop?clientFoundRows=true&interpolateParams=true", false, true},
		{"mysql://shop@db/shop?tls=preferred", database.MySQL, "", false, true},
		{"mysql://shop@[::1]/shop", database.MySQL, "shop@tcp([::1]:3306)/shop", false, false},
		{"mysql://shop@localhost/shop", database.MySQL, "", false, false},
		{"mariadb://shop:hunter2@db:3307/shop?tls=true", database.MySQL, "shop:hunter2@tcp(db:3307)/shop", true, false},
		{"sqlite:a b.db", database.SQLite, "file:a%20b.db?_txlock=immediate", false, false},
	} {
		d, err := ParseDSN(c.dsn)
		if err != nil || d.Dialect != c.dialect || d.HasPassword != c.hasPassword || !strings.Contains(d.Source, c.source) {
			t.Errorf("%s: %+v, %v", c.dsn, d, err)
		}
		if plain := d.InPlain(); (plain != "") != c.inPlain {
			t.Errorf("%s: in plain text: %q", c.dsn, plain)
		}
		if shown, _, _ := strings.Cut(c.dsn, "?"); d.Shown != strings.NewReplacer("shop:hunter2@", "", "shop@", "").Replace(shown) {
			t.Errorf("%s is shown as %s", c.dsn, d.Shown)
		}
		if strings.Contains(d.Shown, "hunter2") {
			t.Errorf("%s is shown as %s", c.dsn, d.Shown)
		}
	}
	for _, dsn := range []string{
		"", "shop:hunter2@tcp(db)/shop", "oracle://shop:hunter2@db/shop", "postgres://shop:hunter2@db", "mysql://shop:hunter2@db/shop?parseTime=hunter2",
		"postgres://shop:hunter2%zz@db/shop", "mysql:///shop", "sqlite:", "sqlite:x?mode=memory",
		"postgres://shop:hunter2@db/shop?sslmode=foo", "postgres://shop@db/shop?password=hunter2&connect_timeout=hunter2", "mysql://shop:hunter2@db/shop?tls=hunter2",
	} {
		if _, err := ParseDSN(dsn); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
	_, err := ParseDSN("postgres://shop:hunter2@db/shop?sslmode=verify-full&sslrootcert=/nowhere/hunter2")
	if err == nil || !strings.Contains(err.Error(), "sslrootcert that names a file that cannot be used") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
