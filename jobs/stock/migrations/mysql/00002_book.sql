-- +goose Up
CREATE TABLE IF NOT EXISTS stock_identity (
  single SMALLINT NOT NULL CHECK (single = 1), -- there is one row
  id     VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- random: differs from that of all other databases
  PRIMARY KEY (single)
);
CREATE TABLE IF NOT EXISTS stock_book (
  sale  VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  epoch VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- random: of the shelf in the store that was built from this book
  mark  BIGINT NOT NULL, -- the number of the last settlement, 0 before the first
  PRIMARY KEY (sale)
);

-- +goose Down
DROP TABLE IF EXISTS stock_book;
DROP TABLE IF EXISTS stock_identity;
