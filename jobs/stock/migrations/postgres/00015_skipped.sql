-- +goose Up
ALTER TABLE stock_cursor ADD COLUMN IF NOT EXISTS skipped_after BIGINT NOT NULL DEFAULT -1; -- the event behind which all up to seq were skipped; -1: none was

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN IF EXISTS skipped_after;
