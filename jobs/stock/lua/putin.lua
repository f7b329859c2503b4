-- put in: reads what was put in of some products, and added to them, that the database does
-- not have, for a transaction that has locked the book, and gives that a number as a
-- settlement has one. It runs on a shelf: see shelf.lua.
--
-- KEYS  1 restocked  2 supplied
-- ARGV  1 the book's mark, then skus
--
-- Returns {the number, how many products follow, sku, total and offer, …, how many supplies
-- follow, sku and reference, quantity, …}, {} when there is none, or {'behind'} when the
-- shelf's mark is behind the book's: it has lost something, and is closed.
redis.call('HDEL', shelf, '') -- a write that a full store allows lets the next one too
if tonumber(redis.call('HGET', shelf, 'mark') or 0) < tonumber(ARGV[1]) then
  redis.call('HSET', shelf, 'closed', 'behind')
  return {'behind'}
end
local totals, supplies, wanted = {}, {}, {}
for i = 2, #ARGV do
  local total = redis.call('HGET', KEYS[1], ARGV[i])
  if total then
    totals[#totals + 1] = ARGV[i]
    totals[#totals + 1] = total
    wanted[ARGV[i]] = true
  end
end
if #totals == 0 then return {} end
local added = redis.call('HGETALL', KEYS[2])
for i = 1, #added, 2 do
  if wanted[string.match(added[i], '^%S*')] then
    supplies[#supplies + 1] = added[i]
    supplies[#supplies + 1] = added[i + 1]
  end
end
local answer = {string.format('%.0f', redis.call('HINCRBY', shelf, 'mark', 1)), tostring(#totals / 2)}
for _, value in ipairs(totals) do answer[#answer + 1] = value end
answer[#answer + 1] = tostring(#supplies / 2)
for _, value in ipairs(supplies) do answer[#answer + 1] = value end
return answer
