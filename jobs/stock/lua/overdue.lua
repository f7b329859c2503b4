-- overdue: finds reserved orders that are past their time.
--
-- KEYS  1 fence  2 due
-- ARGV  1 fence  2 how many at most
--
-- Returns {'ok', id…}, the oldest first, or {'fenced', fence} with the highest
-- fence seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local t = redis.call('TIME')
local at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', at, 'LIMIT', 0, ARGV[2])
table.insert(answer, 1, 'ok')
return answer
