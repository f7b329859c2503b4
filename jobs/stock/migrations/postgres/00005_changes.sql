-- +goose Up
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS changes BIGINT NOT NULL DEFAULT 0; -- how many changes of the epoch the book has at least
CREATE INDEX IF NOT EXISTS orders_status ON orders (sale, status, id);
CREATE INDEX IF NOT EXISTS orders_settled ON orders (sale, settled_at);

-- +goose Down
DROP INDEX IF EXISTS orders_settled;
DROP INDEX IF EXISTS orders_status;
ALTER TABLE stock_book DROP COLUMN IF EXISTS changes;
