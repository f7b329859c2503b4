-- +goose Up
-- MySQL has no IF NOT EXISTS for columns: what is there already is not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_cursor' AND column_name = 'failing_at') = 0,
  'ALTER TABLE stock_cursor ADD COLUMN failing_at BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- when the next event could not be delivered first; 0: it could
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN failing_at;
