-- agree records how a namespace is laid out, unless another process has.
--
-- KEYS[1]  the record: a string
-- ARGV     the layout, ms that it stays
-- returns  the layout that is recorded

local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
