-- +goose Up
-- MySQL has no IF NOT EXISTS for constraints: existing ones are not made again.
UPDATE product SET
  reserved = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'reserved'),
  sold = (SELECT COALESCE(SUM(i.quantity), 0) FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = product.sale AND i.sku = product.sku AND o.status = 'paid')
WHERE reserved < 0 OR sold < 0;
UPDATE product SET put_in = reserved + sold WHERE reserved + sold > put_in; -- what was sold too much counts as put in
SET @stock_check = IF((SELECT COUNT(*) FROM information_schema.table_constraints WHERE table_schema = DATABASE() AND table_name = 'product' AND constraint_name = 'stock_balance') = 0,
  'ALTER TABLE product ADD CONSTRAINT stock_balance CHECK (put_in >= 0 AND reserved >= 0 AND sold >= 0 AND reserved + sold <= put_in)', 'DO 0');
PREPARE stock_statement FROM @stock_check;
EXECUTE stock_statement;
DEALLOCATE PREPARE stock_statement;

-- +goose Down
ALTER TABLE product DROP CONSTRAINT stock_balance;
