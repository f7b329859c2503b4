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

-- free gives a lock that the owner has, or that is kept for it, to the next. It
-- returns 1 if the lock is not the owner's any more, 0 if it never was.
local function free(lock, queue, none, me, known)
  local text = redis.call('GET', lock)
  if text then
    local fence, kept, owner = read(text)
    if not fence then
      return 2
    elseif owner == me and (known == '0' or not kept and known == fence) then
      local passed = pass(lock, queue, fence)
      if passed == nil then
        return 2
      elseif not passed then
        redis.call('DEL', lock)
      end
      return 1
    end
  end
  redis.call('PEXPIRE', none, 1)
  return text and 0 or 1
end

-- ask grants a lock that is free and that nobody waits for, or that is kept for
-- the asker. To barge is to take it before those who wait, also if it is kept.
-- The SET comes first: only a master that has memory accepts it, so a replica
-- never tells who holds what.
local function ask(lock, queue, me, ttl, seen, barge)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local fence = string.format('%.0f', math.max(now, seen + 1))
  if redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl, 'NX') then
    local passed = not barge and redis.call('EXISTS', queue) == 1 and pass(lock, queue, fence)
    if passed == nil then
      redis.call('DEL', lock)
      return {2, '0', 0}
    elseif not passed then
      return {1, fence, tonumber(ttl)}
    end
  end

  local last, kept, owner, place = read(redis.call('GET', lock))
  if not last then
    return {2, '0', 0}
  elseif owner == me and not kept then
    return {1, last, redis.call('PTTL', lock)}
  elseif owner == me or kept and barge then
    if owner ~= me then
      redis.call('LPUSH', queue, place)
      redis.call('PEXPIRE', queue, UNUSED)
    end
    fence = string.format('%.0f', math.max(now, seen + 1, last + 1))
    redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl)
    return {1, fence, tonumber(ttl)}
  end
  return {0, '0', redis.call('PTTL', lock)}
end
