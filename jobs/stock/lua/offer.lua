-- offer: sets how a product is sold. One that is not known is known from then on, with
-- nothing put in.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer  7 names
-- ARGV  1 sku  2 offer (price currency)  3 how many products there may be  4 condition: see
--       version.lua
--
-- Returns {'ok', put, stock, reserved, sold, offer}, {'full'} when there are too many
-- products, or {'version', version} when it is not as the condition wants it; one that has the
-- offer already is.
local sku = ARGV[1]
local put, offer = redis.call('HGET', KEYS[1], sku), redis.call('HGET', KEYS[6], sku)
if offer == '-' then put, offer = false, false end -- it was deleted
local no = offer ~= ARGV[2] and refused(put, offer, ARGV[4])
if no then return no end
if redis.call('HEXISTS', KEYS[1], sku) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return {'full'}
end
local answer = {'ok'}
if redis.call('HEXISTS', KEYS[1], sku) == 0 then redis.call('ZADD', KEYS[7], '0', sku) end
for count = 1, 4 do
  redis.call('HSETNX', KEYS[count], sku, '0')
  answer[count + 1] = redis.call('HGET', KEYS[count], sku)
end
redis.call('HSET', KEYS[6], sku, ARGV[2])
redis.call('HSET', KEYS[5], sku, answer[2] .. ' ' .. ARGV[2])
changed = true
answer[6] = ARGV[2]
return answer
