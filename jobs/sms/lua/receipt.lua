-- receipt: stores the receipt of a sent message.
-- KEYS  1 status  2 sent  3 repeated  4 delivered  5 undelivered  then the sets of messages that
--       wait or ended unsent
-- ARGV  1 id      2 delivered or undelivered       3 reason
-- Returns {'ok'}, or {'unknown'} if there is no such message, or none that may have been sent.
-- A delivered message stays delivered, and is not sent again. A repeated call changes nothing.
local id, delivered = ARGV[1], ARGV[2] == 'delivered'
local state, takes, attempts, sends, fence, changed, due, run =
  string.match(redis.call('HGET', KEYS[1], id) or '', '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) ')
if not state or (state ~= 'taken' and tonumber(sends) == 0) then return {'unknown'} end
if redis.call('ZSCORE', KEYS[4], id) then return {'ok'} end
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local function write(state, changed, reason)
  redis.call('HSET', KEYS[1], id, table.concat({state, takes, attempts, sends, fence, changed, due, run, reason}, ' '))
end

if not delivered then
  if state ~= 'taken' and state ~= 'sent' then return {'ok'} end -- it waits, or has ended, anyway
  if redis.call('ZSCORE', KEYS[5], id) then return {'ok'} end
  redis.call('ZADD', KEYS[5], now, id)
  if state == 'sent' then write(state, changed, 'undelivered: ' .. ARGV[3]) end
  return {'ok'}
end
redis.call('ZREM', KEYS[5], id)
redis.call('ZADD', KEYS[4], now, id)
if state == 'sent' then
  write(state, changed, 'delivered')
elseif state ~= 'taken' then
  for set = 6, #KEYS do redis.call('ZREM', KEYS[set], id) end
  write('sent', now, 'delivered')
  redis.call('ZADD', KEYS[2], now, id)
  if tonumber(sends) > 1 then redis.call('ZADD', KEYS[3], now, id) end
end
return {'ok'}
