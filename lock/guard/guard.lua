-- This guard goes at the beginning of scripts that write data that a lock protects.
--
-- admit reports whether a write with this fence may be done. If so it stores the fence under a key
-- beside the data, in the same slot and without an expiry: a lower fence is rejected from then on.
local function admit(key, fence)
  local highest = redis.call('GET', key)
  if highest and tonumber(fence) < tonumber(highest) then
    return false
  end
  redis.call('SET', key, fence)
  return true
end

