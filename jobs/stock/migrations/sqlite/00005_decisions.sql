-- +goose Up
CREATE TABLE stock_book_counted (
  sale    TEXT NOT NULL,
  epoch   TEXT NOT NULL, -- random: of the shelf in the store that was built from this book
  mark    INTEGER NOT NULL, -- the number of the last settlement, 0 before the first
  changes INTEGER NOT NULL DEFAULT 0, -- how many changes of the epoch the book has at least
  PRIMARY KEY (sale)
);
INSERT INTO stock_book_counted (sale, epoch, mark) SELECT sale, epoch, mark FROM stock_book;
DROP TABLE stock_book;
ALTER TABLE stock_book_counted RENAME TO stock_book;
CREATE INDEX IF NOT EXISTS orders_status ON orders (sale, status, id);
CREATE INDEX IF NOT EXISTS orders_settled ON orders (sale, settled_at);
CREATE TABLE IF NOT EXISTS stock_decision (
  sale       TEXT NOT NULL,
  id         TEXT NOT NULL, -- random
  made_at    INTEGER NOT NULL, -- Unix milliseconds
  made_by    TEXT NOT NULL, -- the operator
  action     TEXT NOT NULL, -- accepted, refunded, dropped, freed, repaired
  order_id   TEXT NOT NULL, -- or empty
  sku        TEXT NOT NULL, -- or empty
  new_id     TEXT NOT NULL, -- under which a disputed order was accepted, or empty
  store_has  TEXT NOT NULL, -- what the store had
  book_has   TEXT NOT NULL, -- what the book had
  reason     TEXT NOT NULL,
  PRIMARY KEY (sale, id)
);

-- +goose Down
DROP TABLE IF EXISTS stock_decision;
DROP INDEX IF EXISTS orders_settled;
DROP INDEX IF EXISTS orders_status;
ALTER TABLE stock_book DROP COLUMN changes;
