-- guard is for scripts that write what a lock protects: it goes before them.
--
-- admit reports whether a write with this fence may be done, and remembers the
-- fence under a key next to what is written, in the same slot and without an
-- expiry: a lower fence is refused from then on.
local function admit(key, fence)
  local highest = redis.call('GET', key)
  if highest and tonumber(fence) < tonumber(highest) then
    return false
  end
  redis.call('SET', key, fence)
  return true
end

