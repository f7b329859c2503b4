-- cancel: puts the items of a reserved order back in stock.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 fresh  5 due  6 unsettled
--       7 bought
-- ARGV  1 id
--
-- Returns {'ok', record} when the order is cancelled, by this call or one before,
-- {'closed', record} when it is in another last state, or {'unknown'}.
local k = {record = KEYS[1], reserved = KEYS[3], fresh = KEYS[4], due = KEYS[5], unsettled = KEYS[6], bought = KEYS[7]}
local record = redis.call('GET', k.record)
if not record or not held(ARGV[1], record, k.fresh, k.due) then return {'unknown'} end
local state = string.match(record, '^%a+')
if state == 'cancelled' then return {'ok', record} end
if not open(state) then return {'closed', record} end
changed = true
return {'ok', close(ARGV[1], record, 'cancelled', KEYS[2], k, now())}
