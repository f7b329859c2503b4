-- cancel: gives back what an order reserved.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 fresh  5 due  6 unsettled
-- ARGV  1 id
--
-- Returns {'ok', record} when the order is cancelled, by this call or one before,
-- {'closed', record} when it is paid or expired, or {'unknown'}.
local record = redis.call('GET', KEYS[1])
if not record or not held(ARGV[1], record, KEYS[4], KEYS[5]) then return {'unknown'} end
local state = string.match(record, '^%a+')
if state == 'cancelled' then return {'ok', record} end
if state ~= 'reserved' then return {'closed', record} end
changed = true
return {'ok', close(ARGV[1], record, 'cancelled', KEYS[1], KEYS[3], KEYS[2], KEYS[4], KEYS[5], KEYS[6], now())}
