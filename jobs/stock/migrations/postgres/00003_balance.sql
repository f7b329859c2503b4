-- +goose Up
ALTER TABLE product DROP CONSTRAINT IF EXISTS stock_balance;
UPDATE product SET
  reserved = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'reserved'),
  sold = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'paid')
WHERE reserved < 0 OR sold < 0;
UPDATE product SET put_in = reserved + sold WHERE reserved + sold > put_in; -- what was sold too much counts as put in
ALTER TABLE product ADD CONSTRAINT stock_balance CHECK (put_in >= 0 AND reserved >= 0 AND sold >= 0 AND reserved + sold <= put_in);

-- +goose Down
ALTER TABLE product DROP CONSTRAINT IF EXISTS stock_balance;
