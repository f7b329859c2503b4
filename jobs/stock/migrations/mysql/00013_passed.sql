-- +goose Up
-- MySQL has no IF NOT EXISTS for columns: what is there already is not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_cursor' AND column_name = 'passed') = 0,
  'ALTER TABLE stock_cursor ADD COLUMN passed BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- how often later events got through while the next one failed
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
ALTER TABLE stock_cursor DROP COLUMN passed;
