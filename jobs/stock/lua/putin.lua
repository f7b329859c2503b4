-- put in: reads what was put in of some products, and added to them, that the database does
-- not have. It changes nothing.
--
-- KEYS  1 restocked  2 supplied  3 shelf
-- ARGV  1 epoch of the shelf, then skus
--
-- Returns {the number of the last settlement, '0', how many products follow, sku, total and
-- offer, …, how many supplies follow, sku and reference, quantity, …}, or nothing when the
-- shelf is another one by now, or closed.
local has = redis.call('HMGET', KEYS[3], 'epoch', 'mark', 'closed')
if has[1] ~= ARGV[1] or has[3] then return {} end
local totals, supplies, wanted = {}, {}, {}
for i = 2, #ARGV do
  local total = redis.call('HGET', KEYS[1], ARGV[i])
  if total then
    totals[#totals + 1] = ARGV[i]
    totals[#totals + 1] = total
    wanted[ARGV[i]] = true
  end
end
local added = #totals > 0 and redis.call('HGETALL', KEYS[2]) or {}
for i = 1, #added, 2 do
  if wanted[string.match(added[i], '^%S*')] then
    supplies[#supplies + 1] = added[i]
    supplies[#supplies + 1] = added[i + 1]
  end
end
local answer = {has[2], '0', tostring(#totals / 2)}
for _, value in ipairs(totals) do answer[#answer + 1] = value end
answer[#answer + 1] = tostring(#supplies / 2)
for _, value in ipairs(supplies) do answer[#answer + 1] = value end
return answer
