-- counts: counts messages by state.
--
-- KEYS  1 to 9 taken, sent, failed, repeated, broken, cancelled, expired, delivered, undelivered
--       10 to 13 the lanes
--
-- Returns {queued, due} of all lanes, and then the numbers of KEYS 1 to 9.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = {0, 0}
for set = 1, 9 do answer[#answer + 1] = redis.call('ZCARD', KEYS[set]) end
for lane = 10, #KEYS do
  answer[1] = answer[1] + redis.call('ZCARD', KEYS[lane])
  answer[2] = answer[2] + redis.call('ZCOUNT', KEYS[lane], '-inf', now)
end
return answer
