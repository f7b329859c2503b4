-- why returns how a lease that is not alive was taken.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  how leases were taken: see shared.lua
-- ARGV     owner, fence
-- returns  how, or nothing if that is not known

redis.call('PEXPIRE', KEYS[1], 1)
local text = redis.call('HMGET', KEYS[2], ARGV[1])[1] or ''
local how, fence = string.match(text, '^(%a+)|(%d+)$')
return fence == ARGV[2] and how or ''
