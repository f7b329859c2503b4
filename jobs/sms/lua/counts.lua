-- counts: counts messages by state.
--
-- KEYS  1 to 8 taken, sent, failed, repeated, broken, expired, delivered, undelivered
--       9 queued  10 retry
--
-- Returns {queued, due} of both lanes, and then the numbers of KEYS 1 to 8.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local answer = {0, 0}
for set = 1, 8 do answer[#answer + 1] = redis.call('ZCARD', KEYS[set]) end
for lane = 9, #KEYS do
  answer[1] = answer[1] + redis.call('ZCARD', KEYS[lane])
  answer[2] = answer[2] + redis.call('ZCOUNT', KEYS[lane], '-inf', now)
end
return answer
