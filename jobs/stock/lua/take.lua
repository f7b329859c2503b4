-- take: returns the work of a run of settleOrders. It removes nothing.
--
-- KEYS  1 fence  2 unsettled  3 fresh  4 restocked
-- ARGV  1 fence  2 how many orders at most
--
-- Returns {'ok', number of products whose total the database lacks, id, …}:
-- first the orders that have changed, the oldest of each first, or {'fenced', fence} with the
-- highest fence seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local answer = {'ok', tostring(redis.call('HLEN', KEYS[4]))}
local room = tonumber(ARGV[2])
for key = 2, 3 do
  if room == 0 then break end
  for _, id in ipairs(redis.call('ZRANGE', KEYS[key], 0, room - 1)) do
    answer[#answer + 1] = id
    room = room - 1
  end
end
return answer
