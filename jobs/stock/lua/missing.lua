-- missing: closes a shelf that lacks orders which the book has as reserved: it has lost
-- them.
--
-- KEYS  1 shelf  2 fresh  3 due, then the orders' records
-- ARGV  1 the epoch of the shelf that was asked for them, then the orders' ids
--
-- Returns {id, …}: the orders that are missing. None are when the shelf is another one
-- by now, or closed.
local has = redis.call('HMGET', KEYS[1], 'epoch', 'closed')
local missing = {}
if has[1] ~= ARGV[1] or has[2] then return missing end
for i = 2, #ARGV do
  local record = redis.call('GET', KEYS[i + 2])
  if not record or not held(ARGV[i], record, KEYS[2], KEYS[3]) then missing[#missing + 1] = ARGV[i] end
end
if #missing > 0 then redis.call('HSET', KEYS[1], 'closed', 'behind') end
return missing
