-- supply: adds to what was put in of a product, once per reference.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer  7 the reference  8 supplied
-- ARGV  1 sku  2 reference  3 quantity  4 how much may be put in in all  5 how many
--       may be unsettled
--
-- Returns {'ok', put, stock, reserved, sold, offer} when it was added, by this call or one
-- before, {'unknown'} when the product is not known, {'used', quantity} when another quantity
-- was added with the reference, {'over', put} when there would be too much, or {'many'} when
-- too many are not settled. The reference is remembered until its settlement, and from then on
-- for its time: one that has no time and waits for no settlement was left over when the rest of
-- the sale was deleted around it, and counts nowhere.
local sku, field = ARGV[1], ARGV[1] .. ' ' .. ARGV[2]
local put, offer = redis.call('HGET', KEYS[1], sku), redis.call('HGET', KEYS[6], sku)
if not put or offer == '-' then return {'unknown'} end
local known = redis.call('GET', KEYS[7])
if known and redis.call('HEXISTS', KEYS[8], field) == 0 and redis.call('PTTL', KEYS[7]) == -1 then known = nil end
if known and known ~= ARGV[3] then return {'used', known} end
if not known then
  if put + ARGV[3] > tonumber(ARGV[4]) then return {'over', put} end
  if redis.call('HLEN', KEYS[8]) >= tonumber(ARGV[5]) then return {'many'} end
  put = string.format('%.0f', put + ARGV[3])
  redis.call('SET', KEYS[7], ARGV[3])
  redis.call('HSET', KEYS[1], sku, put)
  redis.call('HINCRBY', KEYS[2], sku, ARGV[3])
  redis.call('HSET', KEYS[5], sku, offer and put .. ' ' .. offer or put)
  redis.call('HSET', KEYS[8], field, ARGV[3])
  changed = true
end
local answer = {'ok', put}
for count = 2, 4 do answer[count + 1] = redis.call('HGET', KEYS[count], sku) end
answer[6] = offer or ''
return answer
