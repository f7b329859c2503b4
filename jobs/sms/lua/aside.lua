-- aside: puts messages aside that a run has taken and cannot read.
--
-- KEYS  1 taken   2 broken  3 fence
-- ARGV  1 fence   2 run     then the ids
--
-- Returns {'ok'}, or {'fenced', fence, run} with the highest fence seen when that is not
-- this run's. A repeated call changes nothing.
local seen = redis.call('HMGET', KEYS[3], 'fence', 'run')
if seen[1] ~= ARGV[1] or seen[2] ~= ARGV[2] then
  return {'fenced', seen[1] or '0', seen[2] or '-'}
end
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
for i = 3, #ARGV do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[2], now, ARGV[i])
  end
end
return {'ok'}
