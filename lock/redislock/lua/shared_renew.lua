-- shared_renew moves the deadline of one holder of a lock to now + TTL.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS     the lock, its queue, its holders, their ends, their limits
-- ARGV     owner, fence, TTL in ms
-- returns  ms left, or 0 if the lease is not alive under this owner and fence
--
-- An expiry is the first write: a store at maxmemory accepts the later writes.

-- include: shared.lua

call('PEXPIRE', KEYS[1], 1)
local s, ttl = at(2), tonumber(ARGV[3])
look(s)
local mine = holder(s, ARGV[1])
local alive = mine and not mine.kept and mine.fence == ARGV[2]
if alive and s.alone then
  call('PEXPIRE', s.lock, ttl)
elseif alive then
  s.count = s.count - 1 -- it is put back
  put(s, ARGV[1], mine.fence, int(mine.limit), ttl)
else
  serve(s) -- a lock that look has freed is not left free before its queue
end
settle(s)
return alive and ttl or 0
