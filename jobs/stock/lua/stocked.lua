-- stocked: marks what was put in of products, and how they are sold, as being in the
-- database.
--
-- KEYS  1 fence  2 restocked
-- ARGV  1 fence, then per product: sku, total and offer as they were taken
--
-- Returns {'ok'}, or {'fenced', fence} with the highest fence seen. One that has
-- changed since stays.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[2], ARGV[i]) end
end
return {'ok'}
