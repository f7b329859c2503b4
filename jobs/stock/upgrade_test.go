package stock_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/jobs/stock"
)

// The tables of each version, with a product that was sold too often, are brought up to date.
func TestUpgradeFromEachVersion(t *testing.T) {
	files, err := fs.Glob(os.DirFS("migrations/sqlite"), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for n := 1; n <= len(files); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := emptySQLite(t)
			execute(t, p, "CREATE TABLE stock_schema (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
				"INSERT INTO stock_schema (version_id, is_applied) VALUES (0, 1)")
			for i, f := range files[:n] {
				text, _ := os.ReadFile("migrations/sqlite/" + f)
				up, _, _ := strings.Cut(string(text), "-- +goose Down")
				if _, err := p.db.ExecContext(t.Context(), up); err != nil {
					t.Fatal(f, err)
				}
				execute(t, p, fmt.Sprintf("INSERT INTO stock_schema (version_id, is_applied) VALUES (%s, 1)", strings.TrimLeft(f[:5], "0")))
				if i == 0 {
					execute(t, p, "INSERT INTO product (sale, sku, put_in, reserved, sold) VALUES ('cronce:shop', 'pot', 5, 2, 7)", "INSERT INTO product (sale, sku, put_in, reserved, sold) VALUES ('cronce:shop', 'tea', 5, -1, 2)",
						"INSERT INTO orders VALUES ('cronce:shop', 'o', 'A', 1, 'EUR', 'reserved', 1, 2, 1, 1)", "INSERT INTO order_item VALUES ('cronce:shop', 'o', 'tea', 3)")
				}
			}
			fresh, err := stock.NewDatabase(p.db, p.dialect)
			if err != nil {
				t.Fatal(err)
			}
			if err := fresh.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.wantLines(t, "SELECT sku, put_in, reserved, sold FROM product ORDER BY sku", "pot 9 2 7", "tea 5 3 0")
			p.wantLines(t, "SELECT sql FROM sqlite_master WHERE name IN ('product','orders') AND (sql LIKE '%oversold%' OR sql LIKE '%phone%')")
		})
	}
}
