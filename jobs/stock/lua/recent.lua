-- recent: finds orders that were settled a while ago and not looked up since.
--
-- KEYS  1 fence  2 recent
-- ARGV  1 fence  2 how long ago in ms  3 how many at most
--
-- Returns {'ok', id, settled when, …}, the oldest first, or {'fenced', fence} with
-- the highest fence seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local before = whole(now() - ARGV[2])
local answer = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', before, 'WITHSCORES', 'LIMIT', 0, ARGV[3])
table.insert(answer, 1, 'ok')
return answer
