-- +goose Up
ALTER TABLE product ADD COLUMN IF NOT EXISTS price BIGINT NOT NULL DEFAULT 0; -- of one, in minor units
ALTER TABLE product ADD COLUMN IF NOT EXISTS currency VARCHAR(3) NOT NULL DEFAULT ''; -- of the price; empty: it has none, and cannot be ordered
ALTER TABLE product ADD COLUMN IF NOT EXISTS buyer_limit BIGINT NOT NULL DEFAULT 0; -- how many one buyer may have; 0: any number
ALTER TABLE product ADD COLUMN IF NOT EXISTS starts_at BIGINT NOT NULL DEFAULT 0; -- when its sale begins; 0: it has
ALTER TABLE product ADD COLUMN IF NOT EXISTS ends_at BIGINT NOT NULL DEFAULT 0; -- when its sale ends; 0: never
ALTER TABLE orders ADD COLUMN IF NOT EXISTS buyer VARCHAR(64) NOT NULL DEFAULT ''; -- empty: not named
ALTER TABLE orders ADD COLUMN IF NOT EXISTS payments BIGINT NOT NULL DEFAULT 0; -- how many payments, refunds and returns are recorded of it
ALTER TABLE order_item ADD COLUMN IF NOT EXISTS price BIGINT NOT NULL DEFAULT 0; -- of one, when the order was placed
ALTER TABLE order_item ADD COLUMN IF NOT EXISTS amount BIGINT NOT NULL DEFAULT 0; -- of all of them
CREATE TABLE IF NOT EXISTS payment (
  sale      VARCHAR(129) NOT NULL,
  reference VARCHAR(64) NOT NULL, -- of the payment service; of all payments, refunds and returns
  order_id  VARCHAR(64) NOT NULL,
  kind      VARCHAR(9) NOT NULL, -- paid; surplus: to be refunded; refund, return
  amount    BIGINT NOT NULL, -- in minor units
  currency  VARCHAR(3) NOT NULL,
  refunds   VARCHAR(64) NOT NULL DEFAULT '', -- of a refund: the reference of the payment that goes back
  at        BIGINT NOT NULL, -- Unix milliseconds
  PRIMARY KEY (sale, order_id, reference),
  FOREIGN KEY (sale, order_id) REFERENCES orders (sale, id)
);

-- +goose Down
DROP TABLE IF EXISTS payment;
ALTER TABLE product DROP COLUMN ends_at;
ALTER TABLE product DROP COLUMN starts_at;
ALTER TABLE product DROP COLUMN buyer_limit;
ALTER TABLE product DROP COLUMN currency;
ALTER TABLE product DROP COLUMN price;
ALTER TABLE orders DROP COLUMN payments;
ALTER TABLE orders DROP COLUMN buyer;
ALTER TABLE order_item DROP COLUMN amount;
ALTER TABLE order_item DROP COLUMN price;
