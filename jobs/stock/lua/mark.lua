-- mark: gives a settlement its number, which is greater than all earlier numbers, and reads
-- the totals. Its transaction has locked the book: no other gets a number meanwhile.
-- The shelf has the number before the database does, so that a shelf whose mark is behind the
-- book's has lost something.
--
-- KEYS  1 fence  2 shelf  3 restocked
-- ARGV  1 fence  2 the book's epoch  3 the book's mark
--
-- Returns {'ok', number, changes, sku, total and offer, …},
-- {'shelf', why} when the shelf is not the book's, or
-- {'fenced', fence} with the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local has = redis.call('HMGET', KEYS[2], 'epoch', 'mark', 'closed', 'changes')
if has[3] then return {'shelf', has[3]} end
if has[1] ~= ARGV[2] then return {'shelf', 'other'} end
if tonumber(has[2]) < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], 'closed', 'behind')
  return {'shelf', 'behind'}
end
local answer = {'ok', string.format('%.0f', redis.call('HINCRBY', KEYS[2], 'mark', 1)), has[4]}
for _, value in ipairs(redis.call('HGETALL', KEYS[3])) do answer[#answer + 1] = value end
return answer
