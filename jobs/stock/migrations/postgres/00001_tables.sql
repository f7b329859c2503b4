-- +goose Up
CREATE TABLE IF NOT EXISTS product (
  sale     VARCHAR(129) NOT NULL, -- namespace:name
  sku      VARCHAR(64) NOT NULL,
  put_in   BIGINT NOT NULL, -- in all
  reserved BIGINT NOT NULL, -- by the orders below
  sold     BIGINT NOT NULL, -- by the orders below
  PRIMARY KEY (sale, sku)
);
CREATE TABLE IF NOT EXISTS orders (
  sale       VARCHAR(129) NOT NULL,
  id         VARCHAR(64) NOT NULL, -- the buyer's, and the idempotency key
  receiver   VARCHAR(200) NOT NULL,
  amount     BIGINT NOT NULL, -- in minor units
  currency   CHAR(3) NOT NULL, -- ISO 4217
  status     VARCHAR(9) NOT NULL, -- reserved, paid, cancelled, expired
  placed_at  BIGINT NOT NULL, -- Unix milliseconds, as are all times
  due_at     BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  PRIMARY KEY (sale, id)
);
CREATE TABLE IF NOT EXISTS order_item (
  sale     VARCHAR(129) NOT NULL,
  order_id VARCHAR(64) NOT NULL,
  sku      VARCHAR(64) NOT NULL,
  quantity BIGINT NOT NULL,
  PRIMARY KEY (sale, order_id, sku),
  FOREIGN KEY (sale, order_id) REFERENCES orders (sale, id)
);
CREATE TABLE IF NOT EXISTS stock_fence (
  sale  VARCHAR(129) NOT NULL,
  job   VARCHAR(64) NOT NULL,
  fence BIGINT NOT NULL, -- the highest that was seen
  PRIMARY KEY (sale, job)
);

-- +goose Down
DROP TABLE IF EXISTS stock_fence;
DROP TABLE IF EXISTS order_item;
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS product;
