-- forcings reads the records of a lock that was freed by force.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the records
-- ARGV     how many records are read, how many bytes of each
-- returns  the latest records, the oldest of them first

redis.call('PEXPIRE', KEYS[1], 1)
local all = redis.call('LRANGE', KEYS[2], -ARGV[1], -1)
for i, made in ipairs(all) do all[i] = string.sub(made, 1, tonumber(ARGV[2])) end
return all
