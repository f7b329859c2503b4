-- put in: reads the totals and offers of some products that the database lacks, for a transaction
-- that has locked the book, and gives it a number as a settlement has one. It runs on a shelf: see
-- shelf.lua.
--
-- KEYS  1 restocked
-- ARGV  1 the book's mark, then skus
--
-- Returns {the number, sku, total and offer, …}, {} when there is none, or {'behind'} when the
-- shelf's mark is behind the book's: it has lost something, and is closed.
redis.call('HDEL', shelf, '') -- a write that a full store allows lets the next one too
if tonumber(redis.call('HGET', shelf, 'mark') or 0) < tonumber(ARGV[1]) then
  redis.call('HSET', shelf, 'closed', 'behind')
  return {'behind'}
end
local answer = {''}
for i = 2, #ARGV do
  local total = redis.call('HGET', KEYS[1], ARGV[i])
  if total then
    answer[#answer + 1] = ARGV[i]
    answer[#answer + 1] = total
  end
end
if #answer == 1 then return {} end
answer[1] = string.format('%.0f', redis.call('HINCRBY', shelf, 'mark', 1))
return answer
