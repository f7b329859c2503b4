-- The short way of acquire and wait, for a lock that is free and that nobody waits
-- for. It stands before all functions: they are made anew each time a script runs.
-- The rest of the scripts begins where it ends.
--
-- A bare number is the last fence of a lock that was freed: see remember.lua. The SET
-- comes before every answer about an owner: only a master that has memory accepts it,
-- so a replica never answers for another owner. The one that changes nothing would
-- leave a free lock if it ever did change something.

local DAY = 86400000000 -- µs that a fence may lie ahead

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local text = redis.call('GET', KEYS[1])
local fence, won
if not text or not string.find(text, '%D') then
  fence = math.max(now, ARGV[3] + 1, (text or 0) + 1)
  if fence > now + DAY then return {3, string.format('%.0f', fence), now} end
  fence = string.format('%.0f', fence)
  won = redis.call('SET', KEYS[1], fence .. '|' .. ARGV[1], 'PX', ARGV[2])
  if redis.call('EXISTS', KEYS[2]) == 0 then return tonumber(fence) end
else
  redis.call('SET', KEYS[1], '0', 'PX', ARGV[2], 'NX')
end

