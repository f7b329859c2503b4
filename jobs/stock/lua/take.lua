-- take: returns what a run is to settle. It takes nothing away.
--
-- KEYS  1 fence  2 unsettled  3 fresh  4 restocked  5 supplied
-- ARGV  1 fence  2 how many orders at most
--
-- Returns {'ok', how many orders are unsettled, how many products follow, sku,
-- total and offer, …, how many supplies follow, sku and reference, quantity, …, id, …},
-- those that have changed first, the oldest of each first, or
-- {'fenced', fence} with the highest seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local products = redis.call('HGETALL', KEYS[4])
local answer = {'ok', tostring(redis.call('ZCARD', KEYS[2]) + redis.call('ZCARD', KEYS[3])), tostring(#products / 2)}
for _, value in ipairs(products) do answer[#answer + 1] = value end
local supplies = redis.call('HGETALL', KEYS[5])
answer[#answer + 1] = tostring(#supplies / 2)
for _, value in ipairs(supplies) do answer[#answer + 1] = value end
local room = tonumber(ARGV[2])
for key = 2, 3 do
  if room == 0 then break end
  for _, id in ipairs(redis.call('ZRANGE', KEYS[key], 0, room - 1)) do
    answer[#answer + 1] = id
    room = room - 1
  end
end
return answer
