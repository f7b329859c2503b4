-- product: reads the counts of one product, and how it is sold.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 offer
-- ARGV  1 sku
--
-- Returns {put, stock, reserved, sold, offer}, or {} when the product is not known.
-- The offer is '' when the product has no price.
local put = redis.call('HGET', KEYS[1], ARGV[1])
if not put then return {} end
local answer = {put}
for key = 2, 5 do answer[key] = redis.call('HGET', KEYS[key], ARGV[1]) or '' end
return answer
