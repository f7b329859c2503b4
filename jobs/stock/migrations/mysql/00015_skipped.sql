-- +goose Up
-- MySQL has no IF NOT EXISTS for columns: what is there already is not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_cursor' AND column_name = 'skipped_after') = 0,
  'ALTER TABLE stock_cursor ADD COLUMN skipped_after BIGINT NOT NULL DEFAULT -1', 'DO 0'); -- the event behind which all up to seq were skipped; -1: none was
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN skipped_after;
