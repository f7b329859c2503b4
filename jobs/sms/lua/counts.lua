-- counts: counts messages by state.
--
-- KEYS  1 taken  2 sent  3 failed  4 repeated  5 broken  6 cancelled  7 expired  8 to 11 the lanes
--
-- Returns {queued, due, taken, sent, failed, repeated, broken, cancelled, expired}; queued and
-- due are of all lanes.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = {0, 0}
for set = 1, 7 do answer[#answer + 1] = redis.call('ZCARD', KEYS[set]) end
for lane = 8, #KEYS do
  answer[1] = answer[1] + redis.call('ZCARD', KEYS[lane])
  answer[2] = answer[2] + redis.call('ZCOUNT', KEYS[lane], '-inf', now)
end
return answer
