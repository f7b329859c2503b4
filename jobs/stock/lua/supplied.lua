-- supplied: marks what was added to products as being in the database.
--
-- KEYS  1 fence  2 supplied, then the references
-- ARGV  1 fence  2 how long references are known in ms, then per reference: its field
--
-- Returns {'ok'}, or {'fenced', fence} with the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
for i = 3, #ARGV do
  if redis.call('HDEL', KEYS[2], ARGV[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
return {'ok'}
