-- The short way of acquire and wait, for a lock that is free and that nobody waits
-- for. It stands before all functions: they are made anew each time a script runs.
-- The rest of the scripts begins where it ends.
--
-- The SET comes first: only a master that has memory accepts it, so a replica
-- never tells who holds what.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local fence = string.format('%.0f', math.max(now, ARGV[3] + 1))
local won = redis.call('SET', KEYS[1], fence .. '|' .. ARGV[1], 'PX', ARGV[2], 'NX')
if won and redis.call('EXISTS', KEYS[2]) == 0 then
  return tonumber(fence)
end

