-- acquire votes for an owner if nobody else has the vote of this server.
--
-- ARGV     ... TTL in ms, the highest fence that the asker has seen, the grain
--          of fences in µs
-- returns  {1, fence, ms left}; {0, "attempt|owner", ms left} if another owner
--          has the vote; {2, "", 0} if this attempt was undone before it came
--
-- The time in a fence is cut to the grain, so that servers asked at once say the
-- same number nearly always.

local ttl, floor, grain = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if mine and latest >= attempt and not alive then return refuse(2, '', 0) end
if alive and not mine then return refuse(0, int(latest) .. '|' .. owner, till - now) end
if alive then
  keep(fence, till - now)
  return {1, int(fence), till - now}
end
local us = math.floor((time[1] * 1000000 + time[2]) / grain) * grain
return keep(math.max(last + 1, floor + 1, us), ttl)
