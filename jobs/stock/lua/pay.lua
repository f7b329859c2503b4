-- pay: makes what an order reserved sold. An order that is past its time is
-- expired instead.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 sold  5 fresh  6 due
--       7 unsettled
-- ARGV  1 id
--
-- Returns {'ok', record} when the order is paid, by this call or one before,
-- {'closed', record} when it is cancelled or expired, or {'unknown'}.
local record = redis.call('GET', KEYS[1])
if not record or not held(ARGV[1], record, KEYS[5], KEYS[6]) then return {'unknown'} end
local state, due = string.match(record, '^(%a+) %d+ (%d+) ')
if state == 'paid' then return {'ok', record} end
if state ~= 'reserved' then return {'closed', record} end
local at = now()
changed = true
if at >= tonumber(due) then
  return {'closed', close(ARGV[1], record, 'expired', KEYS[1], KEYS[3], KEYS[2], KEYS[5], KEYS[6], KEYS[7], at)}
end
return {'ok', close(ARGV[1], record, 'paid', KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], at)}
