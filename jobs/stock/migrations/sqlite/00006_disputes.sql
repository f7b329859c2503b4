-- +goose Up
CREATE TABLE IF NOT EXISTS stock_dispute (
  sale      TEXT NOT NULL,
  order_id  TEXT NOT NULL,
  placed_at INTEGER NOT NULL, -- Unix milliseconds, as are all times
  state     TEXT NOT NULL, -- reserved, paid, cancelled, expired
  record    TEXT NOT NULL, -- the order, as the store has it
  book_has  TEXT NOT NULL, -- what the table orders has under the id instead: state and placed_at; empty: nothing
  found_at  INTEGER NOT NULL,
  PRIMARY KEY (sale, order_id, placed_at)
);

-- +goose Down
DROP TABLE IF EXISTS stock_dispute;
