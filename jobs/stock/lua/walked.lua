-- walked: writes down how far a run of reconcile has compared.
--
-- KEYS  1 fence  2 walk
-- ARGV  1 fence, then field, value, …
--
-- Returns {'ok'}, or {'fenced', fence} with the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
redis.call('HSET', KEYS[2], unpack(ARGV, 2))
return {'ok'}
