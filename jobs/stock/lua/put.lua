-- put: sets how much of a product was put in, in all.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer
-- ARGV  1 sku  2 total  3 how many products there may be
--
-- Returns {'ok', put, stock, reserved, sold, offer}, {'low', reserved, sold} when more
-- than that is reserved and sold, or {'full'} when there are too many products.
local sku, total = ARGV[1], tonumber(ARGV[2])
local offer = redis.call('HGET', KEYS[6], sku)
local reserved = redis.call('HGET', KEYS[3], sku) or '0'
local sold = redis.call('HGET', KEYS[4], sku) or '0'
local stock = total - reserved - sold
if stock < 0 then return {'low', reserved, sold} end
if redis.call('HEXISTS', KEYS[1], sku) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return {'full'}
end
stock = string.format('%.0f', stock)
redis.call('HSET', KEYS[1], sku, ARGV[2])
redis.call('HSET', KEYS[2], sku, stock)
redis.call('HSET', KEYS[3], sku, reserved)
redis.call('HSET', KEYS[4], sku, sold)
redis.call('HSET', KEYS[5], sku, offer and ARGV[2] .. ' ' .. offer or ARGV[2])
changed = true
return {'ok', ARGV[2], stock, reserved, sold, offer or ''}
