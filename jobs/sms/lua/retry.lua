-- retry: queues a failed message again, after the messages that were never refused. A message that
-- waits because it was refused is due at once.
--
-- KEYS  1 body    2 status    3 retry     4 failed
-- ARGV  1 id
--
-- Returns ok, queued (it waits already), taken, sent, expired, broken or unknown. A repeated call
-- moves no message twice.
local id = ARGV[1]
local body, status = redis.call('HGET', KEYS[1], id), redis.call('HGET', KEYS[2], id)
if not body and not status then return 'unknown' end
local state, takes, sends, fence, run =
  string.match(status or '', '^(%a+) (%d+) %d+ (%d+) (%d+) %d+ %d+ (%S+) ')
if not body or not state then return 'broken' end
local set = ({failed = KEYS[4], queued = KEYS[3]})[state]
if not set then return state end
if redis.call('ZREM', set, id) == 0 then return state == 'queued' and 'queued' or 'broken' end
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('HSET', KEYS[2], id, string.format('queued %s 0 %s %s %s %s %s ', takes, sends, fence, now, now, run))
redis.call('ZADD', KEYS[3], now, id)
return 'ok'
