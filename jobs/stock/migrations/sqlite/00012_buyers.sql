-- +goose Up
CREATE INDEX IF NOT EXISTS orders_by_buyer ON orders (buyer, sale);

-- +goose Down
DROP INDEX IF EXISTS orders_by_buyer;
