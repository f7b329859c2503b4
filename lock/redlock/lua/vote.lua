-- vote is the fast path of acquire, for a key that no owner has.
--
-- ARGV     as in asked.lua, which follows it
-- returns  1 if this owner has the vote of this server now, with the fence that it
--          proposed

local before = redis.call('GET', KEYS[2])
if not (before and string.sub(before, 1, 16) >= string.sub(ARGV[1], 1, 16))
  and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
