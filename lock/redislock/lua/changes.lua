-- changes returns the series of a partition that have changed since an instant. It writes nothing.
--
-- KEYS[1]  the series of the partition by their last change
-- KEYS[2]  a key that never exists: the write to it proves that this is a master
-- ARGV     the instant in µs, how many series are returned
-- returns  {the store's µs, its process, 1 or 0 for no key of changes, then for each series its name
--          and the µs of its change}

-- include: nodes.lua

call('PEXPIRE', KEYS[2], 1)
local out = {int(us), process(), int(call('EXISTS', KEYS[1]))}
for _, x in ipairs(range(ARGV[1], '+inf', ARGV[2])) do out[#out + 1] = x end
return out
