package stock

import (
	"context"
	"embed"
	"fmt"

	"github.com/cronce/cronce/internal/database"
)

//go:embed migrations
var migrations embed.FS

// Migrate creates the tables, or brings them up to date; the jobs do it too. Nodes
// may do so at the same moment. The user must be allowed to create tables, unless
// they are there already.
func (b *Database) Migrate(ctx context.Context) error {
	b.migrating.Lock()
	defer b.migrating.Unlock()
	if b.migrated {
		return nil
	}
	if err := database.Migrate(ctx, b.db, b.dialect, migrations, "stock_schema"); err != nil {
		return fmt.Errorf("stock: create or update the tables: %w", err)
	}
	b.migrated = true
	return nil
}
