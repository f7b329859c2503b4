-- +goose Up
-- MySQL has no IF NOT EXISTS for columns and indexes: what is there already is not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'stock_book' AND column_name = 'changes') = 0,
  'ALTER TABLE stock_book ADD COLUMN changes BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_status') = 0,
  'CREATE INDEX orders_status ON orders (sale, status, id)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
SET @stock_index = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'orders_settled') = 0,
  'CREATE INDEX orders_settled ON orders (sale, settled_at)', 'DO 0');
PREPARE stock_statement FROM @stock_index;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;
CREATE TABLE IF NOT EXISTS stock_decision (
  sale       VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id         VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- random
  made_at    BIGINT NOT NULL, -- Unix milliseconds
  made_by    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the operator
  action     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- accepted, refunded, dropped, freed, repaired
  order_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- or empty
  sku        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- or empty
  new_id     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- under which a disputed order was accepted, or empty
  store_has  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- what the store had
  book_has   TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- what the book had
  reason     VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (sale, id)
);

-- +goose Down
DROP TABLE IF EXISTS stock_decision;
DROP INDEX orders_settled ON orders;
DROP INDEX orders_status ON orders;
ALTER TABLE stock_book DROP COLUMN changes;
