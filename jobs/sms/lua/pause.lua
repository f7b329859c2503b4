-- pause: pauses the gateway, or ends its pauses.
--
-- KEYS  1 fence
-- ARGV  1 fence   2 run   3 for how long in ms   4 pauses since a message got through,
--       with this one; 0 ends them   5 reason   6 1: it is in doubt, see take
--
-- Returns {'ok'}, or {'fenced', fence, run} with the highest fence seen when that is not
-- this run's. A repeated call changes no more than the pause's end.
local seen = redis.call('HMGET', KEYS[1], 'fence', 'run')
if seen[1] ~= ARGV[1] or seen[2] ~= ARGV[2] then
  return {'fenced', seen[1] or '0', seen[2] or '-'}
end
if ARGV[4] == '0' then
  redis.call('HDEL', KEYS[1], 'until', 'pauses', 'reason', 'doubt')
else
  local t = redis.call('TIME')
  local to = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[3])
  redis.call('HSET', KEYS[1], 'until', to, 'pauses', ARGV[4], 'reason', ARGV[5], 'doubt', ARGV[6])
end
return {'ok'}
