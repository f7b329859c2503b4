-- The parts of a plain lock that one owner has at a time, and its queue, before
-- the scripts that use them.
--
-- The lock is a string that expires with the lease: "fence|owner", or while a
-- free lock is kept for the first of its queue "fence?inbox|owner", with the
-- fence before. The queue is a list of "inbox|owner", the oldest first; an inbox
-- is a channel that the owner's process listens to.
--
-- A lock that owners share, or that the first of its queue wants to share
-- ("inbox|owner|limit"), is for shared.lua: the scripts here then change nothing
-- and answer 2.

local RESERVED = 2000 -- ms that a lock is kept for who does not answer
local UNUSED = 10000  -- ms that a queue stays after the last look of a waiter

-- read takes a lock apart: its fence, whether it is kept, its owner, and the
-- owner's place in the queue. Of one that is shared it returns nothing.
local function read(text)
  local fence, mark, rest = string.match(text, '^(%d+)([|?])(.*)$')
  if mark == '|' then
    return fence, false, rest
  elseif mark then
    return fence, true, string.match(rest, '|(.*)$'), rest
  end
end

-- pass keeps a free lock for the first in its queue and wakes it. It returns
-- false if there is none, and nil if that one wants to share. Its first write is
-- one that a server at maxmemory accepts.
local function pass(lock, queue, fence)
  local place = redis.call('LPOP', queue)
  if not place then
    return false
  end
  local inbox, owner = string.match(place, '^([^|]*)|([^|]*)$')
  if not owner then
    redis.call('LPUSH', queue, place)
    redis.call('PEXPIRE', queue, UNUSED)
    return nil
  end
  redis.call('SET', lock, fence .. '?' .. place, 'PX', RESERVED)
  redis.call('PUBLISH', inbox, owner)
  return true
end

