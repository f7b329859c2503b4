-- put: sets how much of a product was put in, in all, or how it is sold. One that is not known is
-- known from then on.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer
-- ARGV  1 sku  2 total ('': it stays)  3 offer ('': it stays)  4 how many products there may be
--
-- Returns {'ok', put, stock, reserved, sold, offer}, {'low', reserved, sold} when more
-- than that is reserved and sold, or {'full'} when there are too many products.
local sku, total, offer = ARGV[1], ARGV[2], ARGV[3]
if total == '' then total = redis.call('HGET', KEYS[1], sku) or '0' end
if offer == '' then offer = redis.call('HGET', KEYS[6], sku) or '' end
local reserved = redis.call('HGET', KEYS[3], sku) or '0'
local sold = redis.call('HGET', KEYS[4], sku) or '0'
local stock = redis.call('HGET', KEYS[2], sku) or '0'
if ARGV[2] ~= '' then
  stock = string.format('%.0f', total - reserved - sold)
  if tonumber(stock) < 0 then return {'low', reserved, sold} end
end
if redis.call('HEXISTS', KEYS[1], sku) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return {'full'}
end
redis.call('HSET', KEYS[1], sku, total)
redis.call('HSET', KEYS[2], sku, stock)
redis.call('HSET', KEYS[3], sku, reserved)
redis.call('HSET', KEYS[4], sku, sold)
if offer ~= '' then redis.call('HSET', KEYS[6], sku, offer) end
redis.call('HSET', KEYS[5], sku, offer ~= '' and total .. ' ' .. offer or total)
changed = true
return {'ok', total, stock, reserved, sold, offer}
