-- decide: carries out what was decided of a disputed order.
--
-- KEYS  1 the order's record  2 that of the new id  3 disputed  4 stock  5 reserved
--       6 sold  7 fresh  8 due  9 unsettled  10 bought
-- ARGV  1 id  2 placed  3 accept, refund or drop  4 the new id ('' unless accepted)
--
-- Returns {'ok'}, by this call or one before; {'decided', action and new id} when
-- something else was decided before; {'taken'} when the new id is known with another
-- order; {'busy'} while a change of the order is on its way to the book; or {'gone'} when
-- the store does not have this order. What was decided stays in
-- disputed until the book has it, too: see decided.lua.
local decision = 'decided ' .. ARGV[3] .. ' ' .. ARGV[4]
local before = redis.call('HGET', KEYS[3], ARGV[1]) or ''
if before == decision then return {'ok'} end
if string.sub(before, 1, 8) == 'decided ' then return {'decided', string.sub(before, 9)} end
local record = redis.call('GET', KEYS[1])
local state, placed, due, items = string.match(record or '', '^(%a+) (%d+) (%d+) %d+ (%S+) ')
if placed ~= ARGV[2] then return {'gone'} end
if redis.call('ZSCORE', KEYS[7], ARGV[1]) or redis.call('ZSCORE', KEYS[9], ARGV[1]) then return {'busy'} end
if ARGV[3] == 'accept' and redis.call('EXISTS', KEYS[2]) == 1 then return {'taken'} end
redis.call('ZREM', KEYS[8], ARGV[1])
redis.call('DEL', KEYS[1])
if ARGV[3] == 'accept' then
  redis.call('SET', KEYS[2], record)
  if state == 'reserved' then
    redis.call('ZADD', KEYS[7], due, ARGV[4])
  else
    if state == 'paying' then redis.call('ZADD', KEYS[8], due, ARGV[4]) end
    redis.call('ZADD', KEYS[9], whole(now()), ARGV[4])
  end
elseif open(state) or state == 'paid' then
  local from = state == 'paid' and KEYS[6] or KEYS[5]
  for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
    redis.call('HINCRBY', from, sku, '-' .. quantity)
    redis.call('HINCRBY', KEYS[4], sku, quantity)
  end
  untake(record, items, KEYS[10])
end
redis.call('HSET', KEYS[3], ARGV[1], decision)
changed = true
return {'ok'}
