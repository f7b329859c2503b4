-- retry: queues messages again that failed or were cancelled, behind those that were
-- never refused; one that waits because it was refused is due at once.
--
-- KEYS  1 body    2 status    3 retry     4 failed    5 cancelled   6 broken
-- ARGV  the ids
--
-- Returns per id: ok, queued (it waits already), taken, sent, broken or unknown. Asked
-- again it moves no message twice.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = {}
for _, id in ipairs(ARGV) do
  local body, status = redis.call('HGET', KEYS[1], id), redis.call('HGET', KEYS[2], id)
  local state, takes, sends, fence, run =
    string.match(status or '', '^(%a+) (%d+) %d+ (%d+) (%d+) %d+ %d+ (%S+) ')
  local set = ({failed = KEYS[4], cancelled = KEYS[5], queued = KEYS[3]})[state]
  if not body and not status then
    answer[#answer + 1] = 'unknown'
  elseif not body or not state then
    answer[#answer + 1] = 'broken'
  elseif not set then
    answer[#answer + 1] = state
  elseif redis.call('ZREM', set, id) == 0 then
    answer[#answer + 1] = state == 'queued' and 'queued' or 'broken'
  else
    redis.call('HSET', KEYS[2], id, string.format('queued %s 0 %s %s %s %s %s ', takes, sends, fence, now, now, run))
    redis.call('ZADD', KEYS[3], now, id)
    answer[#answer + 1] = 'ok'
  end
end
return answer
