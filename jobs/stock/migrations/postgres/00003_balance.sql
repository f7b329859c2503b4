-- +goose Up
ALTER TABLE product DROP CONSTRAINT IF EXISTS stock_balance;
ALTER TABLE product ADD COLUMN IF NOT EXISTS oversold BIGINT NOT NULL DEFAULT 0; -- what was sold too much before the database refused it; it only shrinks
UPDATE product SET
  reserved = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'reserved'),
  sold = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'paid')
WHERE reserved < 0 OR sold < 0;
UPDATE product SET oversold = reserved + sold - put_in WHERE reserved + sold > put_in;
ALTER TABLE product ADD CONSTRAINT stock_balance CHECK (put_in >= 0 AND reserved >= 0 AND sold >= 0 AND oversold >= 0 AND reserved + sold <= put_in + oversold);

-- +goose Down
ALTER TABLE product DROP CONSTRAINT IF EXISTS stock_balance;
ALTER TABLE product DROP COLUMN IF EXISTS oversold;
