-- +goose Up
-- MySQL has no IF NOT EXISTS for columns: existing ones are not made again.
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'product' AND column_name = 'price') = 0,
  'ALTER TABLE product ADD COLUMN price BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- of one, in minor units
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'product' AND column_name = 'currency') = 0,
  'ALTER TABLE product ADD COLUMN currency VARCHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''''', 'DO 0'); -- of the price; empty: it has none, and cannot be ordered
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'product' AND column_name = 'buyer_limit') = 0,
  'ALTER TABLE product ADD COLUMN buyer_limit BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- how many one buyer may have; 0: any number
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'product' AND column_name = 'starts_at') = 0,
  'ALTER TABLE product ADD COLUMN starts_at BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- when its sale begins; 0: it has
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'product' AND column_name = 'ends_at') = 0,
  'ALTER TABLE product ADD COLUMN ends_at BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- when its sale ends; 0: never
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_name = 'buyer') = 0,
  'ALTER TABLE orders ADD COLUMN buyer VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''''', 'DO 0'); -- empty: not named
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'orders' AND column_name = 'payments') = 0,
  'ALTER TABLE orders ADD COLUMN payments BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- how many payments, refunds and returns are recorded of it
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'order_item' AND column_name = 'price') = 0,
  'ALTER TABLE order_item ADD COLUMN price BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- of one, when the order was placed
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
SET @stock_column = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'order_item' AND column_name = 'amount') = 0,
  'ALTER TABLE order_item ADD COLUMN amount BIGINT NOT NULL DEFAULT 0', 'DO 0'); -- of all of them
PREPARE stock_statement FROM @stock_column;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;
CREATE TABLE IF NOT EXISTS payment (
  sale      VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reference VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of the payment service; of all payments, refunds and returns
  order_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind      VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- paid; surplus: to be refunded; refund, return
  amount    BIGINT NOT NULL, -- in minor units
  currency  VARCHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  refunds   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '', -- of a refund: the reference of the payment that goes back
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
