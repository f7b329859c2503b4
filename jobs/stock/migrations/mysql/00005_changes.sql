-- +goose Up
-- MySQL has no IF NOT EXISTS for columns and indexes: existing ones are not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_book' AND column_name = 'changes') = 0,
  'ALTER TABLE stock_book ADD COLUMN changes BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_status') = 0,
  'CREATE INDEX orders_status ON orders (sale, status, id)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_settled') = 0,
  'CREATE INDEX orders_settled ON orders (sale, settled_at)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
DROP INDEX orders_settled ON orders;
DROP INDEX orders_status ON orders;
ALTER TABLE stock_book DROP COLUMN changes;
