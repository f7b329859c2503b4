-- +goose Up
-- The orders that were accepted and that neither the store nor the table orders has as far.
CREATE TABLE IF NOT EXISTS stock_lost (
  sale     TEXT NOT NULL,
  order_id TEXT NOT NULL,
  source   TEXT NOT NULL, -- shop: it had acknowledged the order; rebuild: it could not take the order over
  state    TEXT NOT NULL, -- as far as it was acknowledged, or the store had it; empty: the store had no readable record
  reason   TEXT NOT NULL,
  found_at INTEGER NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, order_id, source)
);

-- +goose Down
DROP TABLE IF EXISTS stock_lost;
