-- +goose Up
CREATE TABLE IF NOT EXISTS product (
  sale     TEXT NOT NULL, -- namespace:name
  sku      TEXT NOT NULL,
  put_in   INTEGER NOT NULL, -- in all
  reserved INTEGER NOT NULL, -- by the orders below
  sold     INTEGER NOT NULL, -- by the orders below
  PRIMARY KEY (sale, sku)
);
CREATE TABLE IF NOT EXISTS orders (
  sale       TEXT NOT NULL,
  id         TEXT NOT NULL, -- the buyer's, and the idempotency key
  receiver   TEXT NOT NULL,
  amount     INTEGER NOT NULL, -- in minor units
  currency   TEXT NOT NULL, -- ISO 4217
  status     TEXT NOT NULL, -- reserved, paid, cancelled, expired
  placed_at  INTEGER NOT NULL, -- Unix milliseconds, as are all times
  due_at     INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  PRIMARY KEY (sale, id)
);
CREATE TABLE IF NOT EXISTS order_item (
  sale     TEXT NOT NULL,
  order_id TEXT NOT NULL,
  sku      TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  PRIMARY KEY (sale, order_id, sku),
  FOREIGN KEY (sale, order_id) REFERENCES orders (sale, id)
);
CREATE TABLE IF NOT EXISTS stock_fence (
  sale  TEXT NOT NULL,
  job   TEXT NOT NULL,
  fence INTEGER NOT NULL, -- the highest that was seen
  PRIMARY KEY (sale, job)
);

-- +goose Down
DROP TABLE IF EXISTS stock_fence;
DROP TABLE IF EXISTS order_item;
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS product;
