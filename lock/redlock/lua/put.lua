-- put writes the fence that was chosen for an owner, and its lease from now on.
-- A majority has voted for the owner: what is free here becomes the owner's too,
-- unless a later grant was seen here or the owner has released.
--
-- ARGV     ... TTL in ms, fence
-- returns  {1, fence, ms left}, or {0, "", 0}

local ttl = ARGV[4]
local released = since >= 0 and till == '0'
if alive and not mine or released or not mine and last - ARGV[5] > 0 then
  redis.call('PEXPIRE', KEYS[2], 1)
  return {0, '', 0}
end
fence = ARGV[5]
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl + memory)) -- a server at maxmemory accepts what follows
