-- put in: reads what was put in of some products, and added to them, that the database does
-- not have, and gives that a number as a settlement has one: a run of settleOrders that has
-- read the products before does not write them after it.
--
-- KEYS  1 restocked  2 supplied  3 shelf
-- ARGV  1 epoch of the shelf, then skus
--
-- Returns {the number, '0', how many products follow, sku, total and
-- offer, …, how many supplies follow, sku and reference, quantity, …}, or nothing when the
-- shelf is another one by now, or closed.
redis.call('HDEL', KEYS[3], '') -- a write that a full store allows lets the next one too
local has = redis.call('HMGET', KEYS[3], 'epoch', 'closed')
if has[1] ~= ARGV[1] or has[2] then return {} end
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
local answer = {string.format('%.0f', redis.call('HINCRBY', KEYS[3], 'mark', 1)), '0', tostring(#totals / 2)}
for _, value in ipairs(totals) do answer[#answer + 1] = value end
answer[#answer + 1] = tostring(#supplies / 2)
for _, value in ipairs(supplies) do answer[#answer + 1] = value end
return answer
