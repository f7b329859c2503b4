-- reserve: takes an order's items out of stock, all or none, once per order, at the
-- price that they have now.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 fresh  5 halted  6 offer  7 due
--       8 bought  9 unsettled
-- ARGV  1 id  2 how long it may stay unpaid in ms  3 items (sku=quantity,…)  4 rest
--       5 the largest sum  6 the buyer (''), then per item: sku, quantity
--
-- Returns {'new', placed, items as they are recorded}, {'known', record} when the same
-- order is there already, in any state, and expired by this call if it is past its time, {'other'} when the id is there with other
-- content, {'unknown', sku}, {'unpriced', sku}, {'mixed', item, currency, currency of the
-- first item}, {'sum', item, price}, {'not begun', sku, when it begins, now}, {'ended', sku,
-- when}, {'buyer', item} that needs a buyer, {'limit', sku, limit, quantity of the buyer},
-- {'halted', sku} of a product whose books do not balance, or {'sold out', sku, stock};
-- items count from 0. Only new, and an order that expires, change anything.
local call = redis.call
local known = call('GET', KEYS[1])
local k = {record = KEYS[1], reserved = KEYS[3], fresh = KEYS[4], due = KEYS[7], bought = KEYS[8], unsettled = KEYS[9]}
if known and held(ARGV[1], known, k.fresh, k.due) and not leftOver(ARGV[1], known, k) then
  local state, due, items, rest = string.match(known, '^(%a+) %d+ (%d+) %d+ (%S+) (.*)$')
  if not items or asked(items) ~= ARGV[3] or rest ~= ARGV[4] then return {'other'} end
  local at = now()
  if open(state) and at >= tonumber(due) then
    known = close(ARGV[1], known, 'expired', KEYS[2], k, at)
    changed = true
  end
  return {'known', known}
end
local at, by = now(), ARGV[6]
local price, currency, sum = {}, nil, 0
for i = 7, #ARGV, 2 do
  local sku, item = ARGV[i], string.format('%d', (i - 7) / 2)
  local stock = call('HGET', KEYS[2], sku)
  if not stock then return {'unknown', sku} end
  local one, money, limit, starts, ends = string.match(call('HGET', KEYS[6], sku) or '', '^(%d+) (%u%u%u) ?(%d*) ?(%d*) ?(%d*)$')
  if not one then return {'unpriced', sku} end
  if starts ~= '' and at < tonumber(starts) then return {'not begun', sku, starts, whole(at)} end
  if ends ~= '' and ends ~= '0' and at >= tonumber(ends) then return {'ended', sku, ends} end
  currency = currency or money
  if money ~= currency then return {'mixed', item, money, currency} end
  sum = sum + one * ARGV[i + 1]
  if sum > tonumber(ARGV[5]) then return {'sum', item, one} end
  if limit ~= '' and limit ~= '0' then
    if by == '' then return {'buyer', item} end
    local has = call('HGET', KEYS[8], by .. ':' .. sku) or '0'
    if has + ARGV[i + 1] > tonumber(limit) then return {'limit', sku, limit, has} end
  end
  if tonumber(stock) < tonumber(ARGV[i + 1]) then return {'sold out', sku, stock} end
  price[sku] = one
end
if call('EXISTS', KEYS[5]) == 1 then
  for i = 7, #ARGV, 2 do
    if call('HEXISTS', KEYS[5], ARGV[i]) == 1 then return {'halted', ARGV[i]} end
  end
end
for i = 7, #ARGV, 2 do
  call('HINCRBY', KEYS[2], ARGV[i], '-' .. ARGV[i + 1])
  call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1])
  if by ~= '' then call('HINCRBY', KEYS[8], by .. ':' .. ARGV[i], ARGV[i + 1]) end
end
local placed, due = whole(at), whole(at + ARGV[2])
local items = string.gsub(ARGV[3], '([^=,]+)=(%d+)', function(sku, quantity) return sku .. '=' .. quantity .. '@' .. price[sku] end)
items = items .. ';' .. currency
call('SET', KEYS[1], 'reserved ' .. placed .. ' ' .. due .. ' ' .. placed .. ' ' .. items .. ' ' .. ARGV[4])
call('ZADD', KEYS[4], due, ARGV[1])
changed = true
return {'new', placed, items}
