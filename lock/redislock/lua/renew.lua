-- renew moves the deadline of a plain lease to now + TTL.
--
-- KEYS[1]  the lock
-- KEYS[2]  a key that never exists, see below
-- ARGV     owner, fence, TTL in ms
-- returns  ms left, 0 if the lease is not alive under this owner and fence, or -1
--          if the lock is for shared_renew
--
-- An expiry is the only write: a store at maxmemory accepts it. Before "lost",
-- a write that changes nothing proves that this is a master: a replica that
-- lags behind must not end a lease.

local text = redis.call('GET', KEYS[1])
if text ~= ARGV[2] .. '|' .. ARGV[1] then
  redis.call('PEXPIRE', KEYS[2], 1)
  return text and string.sub(text, 1, 1) == '+' and -1 or 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return tonumber(ARGV[3])
