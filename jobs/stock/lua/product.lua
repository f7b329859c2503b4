-- product: reads the counts of one product.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold
-- ARGV  1 sku
--
-- Returns {put, stock, reserved, sold}, or {} when the product is not known.
local put = redis.call('HGET', KEYS[1], ARGV[1])
if not put then return {} end
return {put, redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1]), redis.call('HGET', KEYS[4], ARGV[1])}
