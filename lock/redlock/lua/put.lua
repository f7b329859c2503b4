-- put writes the fence that was chosen for an owner, and its lease from now on.
-- A majority has voted for the owner: what is free here becomes the owner's too,
-- unless a later grant was seen here or the owner has released.
--
-- ARGV     ... TTL in ms, fence
-- returns  {1, fence, ms left}, or {0, "", 0}

local ttl, chosen = tonumber(ARGV[4]), tonumber(ARGV[5])
local released = mine and till == 0 and latest >= attempt
if alive and not mine or released or not mine and last > chosen then return refuse(0, '', 0) end
redis.call('PEXPIRE', KEYS[1], int(ttl + memory)) -- a server at maxmemory accepts what follows
return keep(chosen, ttl)
