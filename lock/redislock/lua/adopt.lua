-- adopt gives a lock from one of its holders to another owner, in one step.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS     the lock, its queue, its holders, their ends, their limits
-- KEYS[7]  how leases were taken: see shared.lua
-- ARGV     the holder, its fence, the other owner, TTL in ms, the highest fence that it
--          has seen
-- returns  as acquire: {0, "0", 0} if the holder's lease is not alive
--
-- An expiry is the first write: a store at maxmemory accepts what follows.

-- include: shared.lua

call('PEXPIRE', KEYS[1], 1)
local s, me, seen = at(2), ARGV[3], tonumber(ARGV[5])
look(s)
local mine, old = holder(s, me), holder(s, ARGV[1])
local out
if mine and not mine.kept then
  out = {1, mine.fence, left(s, mine)}
elseif mine or not old or old.kept or old.fence ~= ARGV[2] then
  out = {0, '0', 0}
elseif following(s, seen) + 1 > us + DAY then
  out = {3, int(following(s, seen) + 1), us}
else
  take(s, KEYS[7], ARGV[1], old, 'adopt')
  out = {1, grant(s, me, ARGV[4], seen, tonumber(old.limit or 1)), tonumber(ARGV[4])}
end
settle(s)
return out
