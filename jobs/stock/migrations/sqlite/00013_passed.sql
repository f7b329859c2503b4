-- +goose Up
ALTER TABLE stock_cursor ADD COLUMN passed INTEGER NOT NULL DEFAULT 0; -- how often later events got through while the next one failed

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN passed;
