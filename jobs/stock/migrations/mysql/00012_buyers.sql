-- +goose Up
-- MySQL has no IF NOT EXISTS for indexes: existing ones are not made again.
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_by_buyer') = 0,
  'CREATE INDEX orders_by_buyer ON orders (buyer, sale)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
DROP INDEX orders_by_buyer ON orders;
