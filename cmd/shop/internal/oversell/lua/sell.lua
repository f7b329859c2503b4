-- sell writes the number of items left and an order, under a fence. guard.lua goes before it.
-- KEYS: stock, fence, orders. ARGV: the fence, the number of items left, the order.
-- Returns 1, or 0 if a higher fence was seen.
if not admit(KEYS[2], ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('RPUSH', KEYS[3], ARGV[3])
return 1
