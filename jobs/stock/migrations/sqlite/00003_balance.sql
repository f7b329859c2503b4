-- +goose Up
UPDATE product SET
  reserved = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'reserved'),
  sold = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'paid')
WHERE reserved < 0 OR sold < 0;
CREATE TABLE product_balanced (
  sale     TEXT NOT NULL, -- namespace:name
  sku      TEXT NOT NULL,
  put_in   INTEGER NOT NULL, -- in all
  reserved INTEGER NOT NULL, -- by the orders
  sold     INTEGER NOT NULL, -- by the orders
  PRIMARY KEY (sale, sku),
  CONSTRAINT stock_balance CHECK (put_in >= 0 AND reserved >= 0 AND sold >= 0 AND reserved + sold <= put_in)
);
INSERT INTO product_balanced (sale, sku, put_in, reserved, sold)
  SELECT sale, sku, MAX(put_in, reserved + sold), reserved, sold FROM product;
DROP TABLE product;
ALTER TABLE product_balanced RENAME TO product;

-- +goose Down
CREATE TABLE product_plain (
  sale     TEXT NOT NULL,
  sku      TEXT NOT NULL,
  put_in   INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  sold     INTEGER NOT NULL,
  PRIMARY KEY (sale, sku)
);
INSERT INTO product_plain SELECT sale, sku, put_in, reserved, sold FROM product;
DROP TABLE product;
ALTER TABLE product_plain RENAME TO product;
