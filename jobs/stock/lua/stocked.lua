-- stocked: marks totals and offers of products as being in the
-- database.
--
-- KEYS  1 fence  2 restocked  3 shelf
-- ARGV  1 fence  2 the number of the settlement that has read them, then
--       per product: sku, total and offer as they were read
--
-- Returns {'ok'}, or {'fenced', fence} with the highest fence seen. One that has
-- changed since stays. So do all when another transaction has had a number since: one may have
-- changed, been written so, and have changed back.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
if redis.call('HGET', KEYS[3], 'mark') ~= ARGV[2] then return {'ok'} end
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[2], ARGV[i]) end
end
return {'ok'}
