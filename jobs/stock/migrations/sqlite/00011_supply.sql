-- +goose Up
CREATE TABLE IF NOT EXISTS stock_supply (
  sale       TEXT NOT NULL,
  sku        TEXT NOT NULL,
  reference  TEXT NOT NULL, -- of the seller, once per product
  quantity   INTEGER NOT NULL, -- what was added to put_in
  settled_at INTEGER NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, sku, reference)
);

-- +goose Down
DROP TABLE IF EXISTS stock_supply;
