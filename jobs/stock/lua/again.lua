-- again: lets orders that the book has lost be settled again.
--
-- KEYS  1 unsettled  2 fresh  3 due  4 settled  5 restored  6 disputed, then the orders'
--       records
-- ARGV  per order: id, state and placed of the record that the book lacks
--
-- Returns {how many}. One that has changed since, or is on its way, stays as it is.
local again = 0
local k = {unsettled = KEYS[1], settled = KEYS[4], restored = KEYS[5], disputed = KEYS[6]}
for i = 1, #ARGV, 2 do
  local id, key = ARGV[i], KEYS[6 + (i + 1) / 2]
  local state, placed, due, items = string.match(redis.call('GET', key) or '', '^(%a+) (%d+) (%d+) %d+ (%S+) ')
  local free = not redis.call('ZSCORE', KEYS[1], id) and not redis.call('ZSCORE', KEYS[2], id)
  if state and free and ARGV[i + 1] == state .. ' ' .. placed then
    again = again + 1
    if state == 'reserved' then
      redis.call('ZREM', KEYS[3], id)
      redis.call('ZADD', KEYS[2], due, id)
    else
      if state == 'paying' then redis.call('ZADD', KEYS[3], due, id) end
      unsettle(id, state, items, k, now())
      redis.call('PERSIST', key)
    end
  end
end
return {tostring(again)}
