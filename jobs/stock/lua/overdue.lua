-- overdue: finds reserved orders that are past their time.
--
-- KEYS  1 fence  2 due  3 fresh
-- ARGV  1 fence  2 how many at most
--
-- Returns {'ok', id…}, the oldest of each first, or {'fenced', fence} with the highest
-- fence seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local t = redis.call('TIME')
local at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = {'ok'}
for key = 2, 3 do
  local room = ARGV[2] + 1 - #answer
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[key], '-inf', at, 'LIMIT', 0, room)) do
    answer[#answer + 1] = id
  end
end
return answer
