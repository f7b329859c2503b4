-- products: puts products onto a shelf that is being rebuilt.
--
-- KEYS  1 shelf  2 put  3 stock  4 reserved  5 sold  6 offer
-- ARGV  1 epoch, then per product: sku, put, stock, reserved, sold, offer ('': none)
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #ARGV, 6 do
  for count = 1, 4 do redis.call('HSET', KEYS[1 + count], ARGV[i], ARGV[i + count]) end
  if ARGV[i + 5] ~= '' then redis.call('HSET', KEYS[6], ARGV[i], ARGV[i + 5]) end
end
return {'ok'}
