-- +goose Up
CREATE TABLE IF NOT EXISTS stock_dispute (
  sale      VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  order_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  placed_at BIGINT NOT NULL, -- Unix milliseconds, as are all times
  state     VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- reserved, paid, cancelled, expired
  record    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the order, as the store has it
  book_has  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- what the table orders has under the id instead: state and placed_at; empty: nothing
  found_at  BIGINT NOT NULL,
  PRIMARY KEY (sale, order_id, placed_at)
);

-- +goose Down
DROP TABLE IF EXISTS stock_dispute;
