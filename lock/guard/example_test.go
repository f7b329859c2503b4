package guard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

// leases are two leases on one key: the second was granted when the first had
// ended, without its holder knowing.
func leases() (paused, next int64) {
	ctx := context.Background()
	var store memlock.Store
	first, _ := store.Acquire(ctx, driver.Acquisition{Key: "invoice", Owner: "a/1", TTL: driver.MinTTL})
	store.Forget() // in place of the time that the first holder was stopped for
	second, _ := store.Acquire(ctx, driver.Acquisition{Key: "invoice", Owner: "b/1", TTL: driver.MinTTL, Fence: first.Fence})
	return first.Fence, second.Fence
}

// A holder was paused; its late write is refused.
func ExampleGuard() {
	paused, next := leases()
	var balance guard.Guard
	value := 0
	fmt.Println(balance.Do(next, func() error { value = 2; return nil }))
	err := balance.Do(paused, func() error { value = 1; return nil })
	fmt.Println(errors.Is(err, guard.ErrStale), value)
	// Output:
	// <nil>
	// true 2
}

// The same in a table, with the condition in the statement.
func ExampleCondition() {
	paused, next := leases()
	db, _ := sql.Open("sqlite", ":memory:")
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	_, _ = db.Exec("CREATE TABLE invoice (id INTEGER PRIMARY KEY, state TEXT, fence BIGINT)")
	_, _ = db.Exec("INSERT INTO invoice (id, state) VALUES (4711, 'open')")
	set := func(state string, fence int64) error {
		r, err := db.Exec("UPDATE invoice SET state = ?1, fence = ?2 WHERE id = 4711 AND "+guard.Condition("fence", "?2"), state, fence)
		if err != nil {
			return err
		}
		return guard.Written(r)
	}
	fmt.Println(set("paid", next))
	fmt.Println(errors.Is(set("cancelled", paused), guard.ErrStale))
	var state string
	_ = db.QueryRow("SELECT state FROM invoice").Scan(&state)
	fmt.Println(state)
	// Output:
	// <nil>
	// true
	// paid
}
