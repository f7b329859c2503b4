-- +goose Up
ALTER TABLE stock_book ADD COLUMN IF NOT EXISTS changes BIGINT NOT NULL DEFAULT 0; -- how many changes of the epoch the book has at least
CREATE INDEX IF NOT EXISTS orders_status ON orders (sale, status, id);
CREATE INDEX IF NOT EXISTS orders_settled ON orders (sale, settled_at);
CREATE TABLE IF NOT EXISTS stock_decision (
  sale       VARCHAR(129) NOT NULL,
  id         VARCHAR(32) NOT NULL, -- random
  made_at    BIGINT NOT NULL, -- Unix milliseconds
  made_by    VARCHAR(200) NOT NULL, -- the operator
  action     VARCHAR(16) NOT NULL, -- accepted, refunded, dropped, freed, repaired
  order_id   VARCHAR(64) NOT NULL, -- or empty
  sku        VARCHAR(64) NOT NULL, -- or empty
  new_id     VARCHAR(64) NOT NULL, -- under which a disputed order was accepted, or empty
  store_has  TEXT NOT NULL, -- what the store had
  book_has   TEXT NOT NULL, -- what the book had
  reason     VARCHAR(500) NOT NULL,
  PRIMARY KEY (sale, id)
);

-- +goose Down
DROP TABLE IF EXISTS stock_decision;
DROP INDEX IF EXISTS orders_settled;
DROP INDEX IF EXISTS orders_status;
ALTER TABLE stock_book DROP COLUMN IF EXISTS changes;
