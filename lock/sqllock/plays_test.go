package sqllock_test

import (
	"strconv"
	"testing"

	"github.com/cronce/cronce/internal/plays"
	"github.com/cronce/cronce/lock/sqllock"
)

// Nodes and operators that act at random leave a sound journal on every database.
func TestPlaysHold(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := db.Exec("CREATE TABLE clock (us BIGINT NOT NULL)")
		must(t, err)
		_, err = db.Exec("INSERT INTO clock VALUES (0)")
		must(t, err)
		open := func() plays.Store {
			d := newDriver(t, db, on.dialect, sqllock.Options{Namespace: fresh()})
			d.ClockFrom("(SELECT us FROM clock)")
			return d
		}
		plays.HoldOn(t, 25, open, func(ms int64) {
			_, err := db.Exec("UPDATE clock SET us = " + strconv.FormatInt(ms*1000, 10))
			must(t, err)
		})
	})
}
