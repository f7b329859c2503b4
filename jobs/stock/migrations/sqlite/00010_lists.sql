-- +goose Up
CREATE INDEX IF NOT EXISTS order_item_sku ON order_item (sale, sku, order_id);

-- +goose Down
DROP INDEX IF EXISTS order_item_sku;
