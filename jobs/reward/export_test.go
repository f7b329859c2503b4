package reward

import (
	"errors"
	"io/fs"
)

// Statements are those that MySQL is sent, and what makes its tables.
func Statements() ([]string, error) {
	tables, err := fs.ReadFile(migrations, "migrations/mysql/00001_reward.sql")
	life, lifeErr := fs.ReadFile(migrations, "migrations/mysql/00002_life.sql")
	err = errors.Join(err, lifeErr)
	return []string{string(tables), string(life), offer(MySQL), step(MySQL, "state = 'delivered'", "'claimed'"), MySQL.Raise("reward_fence", "family", "reward"), insert(MySQL)}, err
}
