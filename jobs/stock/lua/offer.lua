-- offer: sets how a product is sold. One that is not known is known from then on, with
-- nothing put in.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer
-- ARGV  1 sku  2 offer (price currency)  3 how many products there may be
--
-- Returns {'ok', put, stock, reserved, sold, offer}, or {'full'} when there are too many
-- products.
local sku = ARGV[1]
if redis.call('HEXISTS', KEYS[1], sku) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return {'full'}
end
local answer = {'ok'}
for count = 1, 4 do
  redis.call('HSETNX', KEYS[count], sku, '0')
  answer[count + 1] = redis.call('HGET', KEYS[count], sku)
end
redis.call('HSET', KEYS[6], sku, ARGV[2])
redis.call('HSET', KEYS[5], sku, answer[2] .. ' ' .. ARGV[2])
changed = true
answer[6] = ARGV[2]
return answer
