-- counts: counts messages by state.
--
-- KEYS  1 queued  2 taken  3 sent  4 failed  5 repeated  6 retry  7 broken  8 cancelled
--
-- Returns {queued, due, taken, sent, failed, repeated, broken, cancelled}; queued and due are of both lanes.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
return {
  redis.call('ZCARD', KEYS[1]) + redis.call('ZCARD', KEYS[6]),
  redis.call('ZCOUNT', KEYS[1], '-inf', now) + redis.call('ZCOUNT', KEYS[6], '-inf', now), redis.call('ZCARD', KEYS[2]),
  redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]), redis.call('ZCARD', KEYS[5]),
  redis.call('ZCARD', KEYS[7]), redis.call('ZCARD', KEYS[8]),
}
