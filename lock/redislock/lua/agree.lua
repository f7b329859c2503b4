-- agree records the layout of a namespace, unless another process has recorded one.
--
-- KEYS[1]  the record: a string
-- ARGV     the layout, ms for which it is kept
-- returns  the recorded layout

local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
