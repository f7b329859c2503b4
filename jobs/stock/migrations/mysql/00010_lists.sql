-- +goose Up
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'order_item' AND index_name = 'order_item_sku') = 0,
  'CREATE INDEX order_item_sku ON order_item (sale, sku, order_id)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
DROP INDEX order_item_sku ON order_item;
