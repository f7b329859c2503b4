-- back is the fast path of release, for a lease that has not changed since it was given.
--
-- ARGV     fence, or 0 for any fence of the owner; attempt, memory, owner; the highest
--          fence that this owner may have proposed
-- returns  1 if the vote of this server is free now

local asked, attempt, memory, me = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('MGET', KEYS[1], KEYS[2])
if known[1] then
  local fence, latest, owner = string.match(known[1], '^(%d+)|(%d+)|%d+|(.*)$')
  if fence == asked and owner == me and latest - attempt <= 0
    and not (known[2] and string.sub(known[2], 1, 16) > fence) then
    redis.call('RENAME', KEYS[1], KEYS[2])
    return 1
  end
end
