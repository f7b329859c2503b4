package oversell

import "github.com/cronce/cronce/internal/database"

// A Dialect is the kind of a database.
type Dialect = database.Dialect

// The dialects.
const (
	SQLite     = database.SQLite
	MySQL      = database.MySQL // and MariaDB
	PostgreSQL = database.PostgreSQL
)
