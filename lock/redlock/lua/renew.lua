-- renew moves the deadline of a lease to now + TTL.
--
-- ARGV     ... TTL in ms, fence
-- returns  {1, fence, ms left}, or {0, "", 0} if it is not alive here under this
--          owner and fence

local ttl = ARGV[4]
if not (mine and alive and fence == ARGV[5]) then
  redis.call('PEXPIRE', KEYS[2], 1)
  return {0, '', 0}
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl + memory)) -- a server at maxmemory accepts what follows
