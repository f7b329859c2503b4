-- +goose Up
CREATE TABLE IF NOT EXISTS stock_identity (
  single INTEGER NOT NULL CHECK (single = 1), -- there is one row
  id     TEXT NOT NULL, -- random: differs from that of all other databases
  PRIMARY KEY (single)
);
CREATE TABLE IF NOT EXISTS stock_book (
  sale  TEXT NOT NULL,
  epoch TEXT NOT NULL, -- random: of the shelf in the store that was built from this book
  mark  INTEGER NOT NULL, -- the number of the last settlement, 0 before the first
  PRIMARY KEY (sale)
);

-- +goose Down
DROP TABLE IF EXISTS stock_book;
DROP TABLE IF EXISTS stock_identity;
