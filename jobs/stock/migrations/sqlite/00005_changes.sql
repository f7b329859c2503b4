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

-- +goose Down
DROP INDEX IF EXISTS orders_settled;
DROP INDEX IF EXISTS orders_status;
ALTER TABLE stock_book DROP COLUMN changes;
