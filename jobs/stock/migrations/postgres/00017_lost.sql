-- +goose Up
-- The orders that were accepted and that neither the store nor the table orders has as far.
CREATE TABLE IF NOT EXISTS stock_lost (
  sale     VARCHAR(129) NOT NULL,
  order_id VARCHAR(64) NOT NULL,
  source   VARCHAR(9) NOT NULL, -- shop: it had acknowledged the order; rebuild: it could not take the order over
  state    VARCHAR(9) NOT NULL, -- as far as it was acknowledged, or the store had it; empty: the store had no readable record
  reason   TEXT NOT NULL,
  found_at BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, order_id, source)
);

-- +goose Down
DROP TABLE IF EXISTS stock_lost;
