package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// This example holds a lease in a database. On PostgreSQL and MySQL only the first line and the
// dialect differ.
func Example() {
	ctx := context.Background()
	db, _ := sql.Open("sqlite", "file:example?mode=memory&cache=shared")
	defer db.Close()
	store, _ := sqllock.New(db, sqllock.SQLite, sqllock.Options{Namespace: "shop"})
	if err := store.CreateTables(ctx); err != nil {
		fmt.Println(err)
	}

	locker, risks, err := lock.Open(ctx, store, "node-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, risk := range risks {
		fmt.Println(risk)
	}
	lease, err := locker.Acquire(ctx, "report", lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held:", lease.Check() == nil, lease.Fence() > 0)
	_, err = store.Acquire(ctx, driver.Acquisition{Key: "report", Owner: "other/1", TTL: time.Minute})
	fmt.Println("another is refused:", err != nil)
	fmt.Println("released:", lease.Release(ctx))
	// Output:
	// held: true true
	// another is refused: true
	// released: <nil>
}
