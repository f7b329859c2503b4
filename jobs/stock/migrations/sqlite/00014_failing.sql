-- +goose Up
ALTER TABLE stock_cursor ADD COLUMN failing_at INTEGER NOT NULL DEFAULT 0; -- when the next event could not be delivered first; 0: it could

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN failing_at;
