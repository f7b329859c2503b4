-- cancel: ends a message that waits, has failed, or was put aside.
--
-- KEYS  1 body    2 status    3 broken    4 cancelled  5 to 9 the sets of what waits or has failed
-- ARGV  1 id
--
-- Returns {'ok'}, {'cancelled'} (it was already), {'taken'}, {'sent'}, {'expired'},
-- {'broken'} or {'unknown'}. Asked again it changes nothing.
local id = ARGV[1]
local body, status = redis.call('HGET', KEYS[1], id), redis.call('HGET', KEYS[2], id)
local state, takes, attempts, sends, fence, due, run =
  string.match(status or '', '^(%a+) (%d+) (%d+) (%d+) (%d+) %d+ (%d+) (%S+) ')
local aside = redis.call('ZREM', KEYS[3], id) == 1
if not aside then
  if not body and not status then return {'unknown'} end
  if state == 'taken' or state == 'sent' or state == 'expired' or state == 'cancelled' then return {state} end
  local removed = 0
  for set = 5, #KEYS do removed = removed + redis.call('ZREM', KEYS[set], id) end
  if removed == 0 then return {'broken'} end
end
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('HSET', KEYS[2], id, string.format('cancelled %s %s %s %s %s %s %s ',
  takes or '0', attempts or '0', sends or '0', fence or '0', now, due or now, run or '-'))
redis.call('ZADD', KEYS[4], now, id)
return {'ok'}
