package stock_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Orders that are settled into an empty PostgreSQL are found by the primary key of orders, though it
// has no statistics yet and keeps its first plans: an index that only begins with the sale
// would read every order for each item.
func TestSettleReadsByKey(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), newPlace(t, sqlserver.SharedPostgres(t).Open(t), stock.PostgreSQL)
	p.db.SetMaxOpenConns(1) // the session that settles is the one whose statistics are asked for
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 1000)
	const orders = 300
	fill(t, s, orders)
	settle(t, s, p, 1, orders)
	p.lines(t, "SELECT pg_stat_force_next_flush()")
	read := p.lines(t, "SELECT COALESCE(SUM(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE relname = 'orders' AND indexrelname <> 'orders_pkey'")
	if n, err := strconv.Atoi(fmt.Sprint(read[0])); err != nil || n > orders {
		t.Errorf("read %s entries of other indexes for %d orders, %v", read[0], orders, err)
	}
}
