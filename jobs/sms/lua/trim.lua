-- trim: forgets messages whose retention has ended.
--
-- KEYS  1 body    2 status    3 repeated    4 delivered    5 undelivered    6 to 8 sent, failed, expired
-- ARGV  1 the retention in ms  2 how many at most of each
--
-- Returns how many were forgotten.
local t = redis.call('TIME')
local before = string.format('(%.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1])
local forgotten = 0
for ended = 6, #KEYS do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[ended], '-inf', before, 'LIMIT', 0, ARGV[2])) do
    redis.call('ZREM', KEYS[ended], id)
    for set = 3, 5 do redis.call('ZREM', KEYS[set], id) end
    redis.call('HDEL', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
    forgotten = forgotten + 1
  end
end
return forgotten
