package guard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

// leases are two leases on one key: the second was granted when the first had
// ended, without its holder knowing.
func leases() (paused, next int64) {
	ctx := context.Background()
	var store memlock.Store
	first, _ := store.Acquire(ctx, lock.Acquisition{Key: "invoice", Owner: "a/1", TTL: lock.MinTTL})
	store.Forget() // in place of the time that the first holder was stopped for
	second, _ := store.Acquire(ctx, lock.Acquisition{Key: "invoice", Owner: "b/1", TTL: lock.MinTTL, Fence: first.Fence})
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
	db := sql.OpenDB(&table{}) // in place of a real one: it has one invoice
	defer db.Close()
	set := func(state string, fence int64) error {
		r, err := db.Exec("UPDATE invoice SET state = $1, fence = $2 WHERE id = 4711 AND "+guard.Condition("fence", "$2"), state, fence)
		if err != nil {
			return err
		}
		return guard.Written(r)
	}
	fmt.Println(set("paid", next))
	fmt.Println(errors.Is(set("open", paused), guard.ErrStale))
	// Output:
	// <nil>
	// true
}

// A row that has seen the fence takes it again; one below leaves it as it is.
func TestConditionInStatement(t *testing.T) {
	row := &table{}
	db := sql.OpenDB(row)
	defer db.Close()
	for _, c := range []struct {
		fence int64
		want  error
	}{{5, nil}, {5, nil}, {4, guard.ErrStale}, {6, nil}} {
		r, err := db.ExecContext(t.Context(), "UPDATE invoice SET state = $1, fence = $2 WHERE "+guard.Condition("fence", "$2"), fmt.Sprint(c.fence), c.fence)
		if err != nil {
			t.Fatal(err)
		}
		if err := guard.Written(r); !errors.Is(err, c.want) {
			t.Errorf("fence %d: %v, want %v", c.fence, err, c.want)
		}
	}
	if row.state != "6" {
		t.Errorf("the state is %q", row.state)
	}
}

// A table has one row and knows one statement, whose condition it applies.
type table struct {
	state string
	fence *int64
}

func (t *table) Connect(context.Context) (driver.Conn, error) { return t, nil }
func (t *table) Driver() driver.Driver                        { return nil }
func (t *table) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (t *table) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (t *table) Close() error                                 { return nil }

func (t *table) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !strings.HasSuffix(query, "(fence IS NULL OR fence <= $2)") {
		return nil, errors.New("syntax error")
	}
	fence := args[1].Value.(int64)
	if t.fence != nil && *t.fence > fence {
		return driver.RowsAffected(0), nil
	}
	t.state, t.fence = args[0].Value.(string), &fence
	return driver.RowsAffected(1), nil
}
