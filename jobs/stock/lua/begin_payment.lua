-- begin payment: keeps an order from expiring for a while, once.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 fresh  5 due  6 unsettled
--       7 bought
-- ARGV  1 id  2 for how long, in ms
--
-- Returns {'ok', record} when the order is being paid, by this call or one before,
-- {'closed', record} when it is in a last state, or {'unknown'}. A call again moves
-- nothing: the time is bounded.
local k = {record = KEYS[1], reserved = KEYS[3], fresh = KEYS[4], due = KEYS[5], unsettled = KEYS[6], bought = KEYS[7]}
local record = redis.call('GET', k.record)
if not record or not held(ARGV[1], record, k.fresh, k.due) then return {'unknown'} end
local state, placed, due, rest = string.match(record, '^(%a+) (%d+) (%d+) %d+ (.*)$')
if not open(state) then return {'closed', record} end
local at = now()
if at >= tonumber(due) then
  changed = true
  return {'closed', close(ARGV[1], record, 'expired', KEYS[2], k, at)}
end
if state == 'paying' then return {'ok', record} end
changed = true
redis.call('ZREM', k.unsettled, '') -- a write that a full store allows lets the next ones too
due = whole(math.max(tonumber(due), at + ARGV[2]))
record = 'paying ' .. placed .. ' ' .. due .. ' ' .. whole(at) .. ' ' .. rest
redis.call('SET', k.record, record)
local since = redis.call('ZREM', k.fresh, ARGV[1]) == 1 and placed or whole(at) -- the database lacks it since then
redis.call('ZADD', k.due, due, ARGV[1])
redis.call('ZADD', k.unsettled, 'NX', since, ARGV[1])
return {'ok', record}
