-- halt: stops the sale of the products whose books do not balance, and lets all
-- others be sold.
--
-- KEYS  1 fence  2 halted
-- ARGV  1 fence, then skus
--
-- Returns {'ok'}, or {'fenced', fence} with the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
redis.call('DEL', KEYS[2])
for i = 2, #ARGV do redis.call('HSET', KEYS[2], ARGV[i], '') end
return {'ok'}
