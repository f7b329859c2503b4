-- number: gives a transaction that has locked the book its number, which is greater than all earlier
-- numbers, and reads totals and offers that the database lacks. It runs on a shelf: see shelf.lua.
-- The shelf has the number before the database does, so that a shelf whose mark is behind the
-- book's has lost something.
--
-- KEYS  1 restocked  2 fence
-- ARGV  1 the book's mark  2 the fence of a run (0: a seller), then skus (none: all products)
--
-- Returns {the number, sku, total and offer, …}; {'behind'} when the shelf's mark is behind the
-- book's: it has lost something, and is closed; or {'fenced', fence} with the highest fence seen.
redis.call('HDEL', shelf, '') -- a write that a full store allows lets the next one too
if ARGV[2] ~= '0' and not admit(KEYS[2], ARGV[2]) then return {'fenced', redis.call('GET', KEYS[2])} end
if tonumber(redis.call('HGET', shelf, 'mark') or 0) < tonumber(ARGV[1]) then
  redis.call('HSET', shelf, 'closed', 'behind')
  return {'behind'}
end
local answer = {string.format('%.0f', redis.call('HINCRBY', shelf, 'mark', 1))}
if #ARGV == 2 then
  for _, value in ipairs(redis.call('HGETALL', KEYS[1])) do answer[#answer + 1] = value end
end
for i = 3, #ARGV do
  local total = redis.call('HGET', KEYS[1], ARGV[i])
  if total then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = total
  end
end
return answer
