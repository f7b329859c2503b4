package reward

import "io/fs"

// Statements are those that MySQL is sent, and what makes its tables.
func Statements() ([]string, error) {
	tables, err := fs.ReadFile(migrations, "migrations/mysql/00001_reward.sql")
	return []string{string(tables), MySQL.Raise("reward_fence", "family", "reward"), insert(MySQL)}, err
}
