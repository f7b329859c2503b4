-- +goose Up
-- As on PostgreSQL: no index but the primary key begins with the sale, so that no plan can prefer it to the key.
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_by_status') = 0,
  'CREATE INDEX orders_by_status ON orders (status, sale, id)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_by_settled') = 0,
  'CREATE INDEX orders_by_settled ON orders (settled_at, sale)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_status') > 0,
  'DROP INDEX orders_status ON orders', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_settled') > 0,
  'DROP INDEX orders_settled ON orders', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
CREATE INDEX orders_status ON orders (sale, status, id);
CREATE INDEX orders_settled ON orders (sale, settled_at);
DROP INDEX orders_by_status ON orders;
DROP INDEX orders_by_settled ON orders;
