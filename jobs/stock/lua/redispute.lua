-- redispute: puts disputed orders onto a shelf that is being rebuilt, beside what the
-- book has, as far as there is stock for them.
--
-- KEYS  1 shelf  2 disputed  3 stock  4 reserved  5 sold  6 due  7 bought, then the orders'
--       records
-- ARGV  1 epoch, then per order: id, record, what the book has instead
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #ARGV, 3 do
  local id, record, key = ARGV[i], ARGV[i + 1], KEYS[7 + (i + 1) / 3]
  local state, due, items = string.match(record, '^(%a+) %d+ (%d+) %d+ (%S+) ')
  local count = state == 'paid' and KEYS[5] or KEYS[4]
  local fits = string.sub(redis.call('HGET', KEYS[2], id) or '', 1, 8) ~= 'decided '
  fits = fits and redis.call('GET', key) ~= record -- it is there, when its answer was lost
  for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
    fits = fits and tonumber(redis.call('HGET', KEYS[3], sku) or 0) >= tonumber(quantity)
  end
  if fits then
    for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
      redis.call('HINCRBY', KEYS[3], sku, '-' .. quantity)
      redis.call('HINCRBY', count, sku, quantity)
      if buyer(record) then redis.call('HINCRBY', KEYS[7], buyer(record) .. ':' .. sku, quantity) end
    end
    redis.call('SET', key, record)
    redis.call('HSET', KEYS[2], id, ARGV[i + 2])
    if open(state) then redis.call('ZADD', KEYS[6], due, id) end
  end
end
return {'ok'}
