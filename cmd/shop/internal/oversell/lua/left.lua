-- left reads the stock under a fence. guard.lua goes before it.
-- KEYS: stock, fence. ARGV: the fence.
-- Returns {1, the number of items left}, or {0, 0} if a higher fence was seen.
if not admit(KEYS[2], ARGV[1]) then
  return {0, 0}
end
return {1, tonumber(redis.call('GET', KEYS[1]))}
