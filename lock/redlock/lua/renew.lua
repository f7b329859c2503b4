-- renew moves the deadline of a lease to now + TTL.
--
-- ARGV     ... TTL in ms, fence
-- returns  {1, fence, ms left}, or {0, "", 0} if it is not alive here under this
--          owner and fence

local ttl, named = tonumber(ARGV[4]), tonumber(ARGV[5])
if not (mine and alive and fence == named) then return refuse(0, '', 0) end
redis.call('PEXPIRE', KEYS[1], int(ttl + memory)) -- a server at maxmemory accepts what follows
return keep(fence, ttl)
