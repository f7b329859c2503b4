-- +goose Up
ALTER TABLE stock_cursor ADD COLUMN IF NOT EXISTS passed BIGINT NOT NULL DEFAULT 0; -- how often later events got through while the next one failed

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN IF EXISTS passed;
