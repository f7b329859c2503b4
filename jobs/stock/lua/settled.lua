-- settled: marks orders as being in the database, in the state that was written.
-- One that has changed since stays unsettled.
--
-- KEYS  1 fence  2 unsettled  3 fresh  4 due
--       5 settled (per product, what paid orders took)  6 recent  7 disputed
--       8 marks (how many, ever)  9 restored (per product, what returned orders gave
--       back that the database has), then the orders' records
-- ARGV  1 fence  2 how long closed orders are kept in ms, then per order:
--       id, stamp ('' when the store had no record), what the database
--       has instead ('' when it took the order)
--
-- Returns {'ok', how many are settled, by this call or one before}, or
-- {'fenced', fence} with the highest fence seen. Asked again it changes nothing.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local at = whole(now())
local settled, moved = 0, 0
for i = 3, #ARGV, 3 do
  local id, written, instead, key = ARGV[i], ARGV[i + 1], ARGV[i + 2], KEYS[9 + i / 3]
  local record = redis.call('GET', key) or ''
  local state, due, items = string.match(record, '^(%a+) %d+ (%d+) %d+ (%S+) ')
  local same = written == '' and record == '' or state and written == stamp(record)
  if same then settled = settled + 1 end
  if same and redis.call('ZREM', KEYS[2], id) + redis.call('ZREM', KEYS[3], id) > 0 then
    moved = moved + 1
    if open(state) then redis.call('ZADD', KEYS[4], due, id) end
    if instead ~= '' then
      redis.call('HSET', KEYS[7], id, instead)
      redis.call('PERSIST', key) -- until an operator has decided
    else
      redis.call('HDEL', KEYS[7], id) -- a dispute about it is over
      if record ~= '' then redis.call('ZADD', KEYS[6], at, id) end
    end
    if state == 'paid' and instead == '' then move(items, KEYS[5], '') end
    if back(state) and instead == '' then move(items, KEYS[9], '') end
    if state and not open(state) and instead == '' then redis.call('PEXPIRE', key, ARGV[2]) end
  end
end
if moved > 0 then redis.call('INCRBY', KEYS[8], tostring(moved)) end
return {'ok', tostring(settled)}
