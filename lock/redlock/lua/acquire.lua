-- acquire votes for an owner if nobody else has the vote of this server.
--
-- ARGV     ... TTL in ms, the highest fence that the asker has seen, the grain
--          of fences in µs
-- returns  {1, fence, ms left}; {0, "attempt|owner", ms left} if another owner
--          has the vote; {2, "", 0} if this attempt was undone before it came
--
-- The time in a fence is cut to the grain, so that servers asked at once say the
-- same number nearly always.

local ttl, floor, grain = ARGV[4], ARGV[5], ARGV[6]
if alive and not mine or since >= 0 and not alive then
  redis.call('PEXPIRE', KEYS[2], 1)
  if mine then return {2, '', 0} end
  return {0, latest .. '|' .. owner, till - now}
end
if alive then
  ttl = till - now
else
  local us = time[1] * 1000000 + time[2]
  fence = string.format('%.0f', math.max(last + 1, floor + 1, us - us % grain))
end
