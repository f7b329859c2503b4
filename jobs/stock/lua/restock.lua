-- restock: lets products that the database has lost be settled again.
--
-- KEYS  1 fence  2 restocked  3 put  4 offer
-- ARGV  1 fence, then skus
--
-- Returns {'ok', how many}, or {'fenced', fence} with the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local again = 0
for i = 2, #ARGV do
  local put = redis.call('HGET', KEYS[3], ARGV[i])
  local offer = redis.call('HGET', KEYS[4], ARGV[i])
  if put and offer then put = put .. ' ' .. offer end
  if put then again = again + redis.call('HSETNX', KEYS[2], ARGV[i], put) end
end
return {'ok', tostring(again)}
