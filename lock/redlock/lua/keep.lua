
-- keep.lua comes after a script that gives or keeps a lease of mine: ttl is from
-- now on, in ms, fence is the lease's.

if last - fence < 0 then last = fence end
local value = string.format('%s|%s|%.0f|%s|%s', last, fence, now + ttl, attempt, me)
redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', ttl + memory))
return {1, fence, tonumber(ttl)}
