-- +goose Up
CREATE INDEX IF NOT EXISTS order_item_sku ON order_item (sale, sku, order_id);
CREATE INDEX IF NOT EXISTS payment_kind ON payment (sale, kind, at);

-- +goose Down
DROP INDEX IF EXISTS payment_kind;
DROP INDEX IF EXISTS order_item_sku;
