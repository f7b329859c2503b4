-- reserve: takes an order's items out of stock, all or none, once per order.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 fresh  5 halted
-- ARGV  1 id  2 how long it may stay unpaid in ms  3 items (sku=quantity,…) and rest
--       then per item: sku, quantity
--
-- Returns {'new', placed}, {'known', record} when the same order is there already,
-- in whatever state, {'other'} when the id is there with other content,
-- {'unknown', sku}, {'halted', sku} of a product whose books do not balance, or
-- {'sold out', sku, stock}. Only new changes anything.
local call = redis.call
local known = call('GET', KEYS[1])
if known then
  if string.match(known, '^%a+ %d+ %d+ %d+ (.*)$') == ARGV[3] then return {'known', known} end
  return {'other'}
end
for i = 4, #ARGV, 2 do
  local stock = call('HGET', KEYS[2], ARGV[i])
  if not stock then return {'unknown', ARGV[i]} end
  if tonumber(stock) < tonumber(ARGV[i + 1]) then return {'sold out', ARGV[i], stock} end
end
if call('EXISTS', KEYS[5]) == 1 then
  for i = 4, #ARGV, 2 do
    if call('HEXISTS', KEYS[5], ARGV[i]) == 1 then return {'halted', ARGV[i]} end
  end
end
for i = 4, #ARGV, 2 do
  call('HINCRBY', KEYS[2], ARGV[i], '-' .. ARGV[i + 1])
  call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1])
end
local t = call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local placed, due = string.format('%.0f', at), string.format('%.0f', at + ARGV[2])
call('SET', KEYS[1], 'reserved ' .. placed .. ' ' .. due .. ' ' .. placed .. ' ' .. ARGV[3])
call('ZADD', KEYS[4], due, ARGV[1])
changed = true
return {'new', placed}
