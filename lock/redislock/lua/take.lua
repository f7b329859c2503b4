-- The part of the scripts that take a lock from its holders, after shared.lua.
--
-- A hash remembers, for as long as the leases had left, how they were taken: owner =
-- "how|fence". It is for the holder, whose renewal asks why it is lost, and has TAKEN
-- leases at most: then it begins anew, and the earlier ones are answered without a cause.

local TAKEN = 1000

-- The field '' has how many there may be.

-- take takes the lock from an owner that holds it. The fence that is remembered is one
-- that no owner has: a release that finds its own there is answered as the one that freed
-- the lock.
local function take(s, taken, owner, h, how)
  local rest = left(s, h)
  s.taken = s.taken or tonumber(call('HMGET', taken, '')[1] or 0)
  if s.taken >= TAKEN then
    call('DEL', taken)
    s.taken = 0
  end
  s.taken = s.taken + 1
  call('HSET', taken, '', int(s.taken), owner, how .. '|' .. h.fence)
  if call('PTTL', taken) < rest then call('PEXPIRE', taken, rest) end
  s.last = s.last + 1
  drop(s, owner)
end

