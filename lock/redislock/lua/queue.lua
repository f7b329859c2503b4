-- The functions for plain locks with one owner at a time, and for their queues.
--
-- The lock is a string that expires with the lease: "fence|owner", or, while a free lock is
-- reserved for the first of its queue, "fence?inbox|owner" with the fence before. A bare "fence" is
-- the last fence of a lock that was freed: see remember.lua. The queue is a list of "inbox|owner",
-- the oldest first; an inbox is a channel to which the owner's process subscribes.
--
-- Locks that owners share, or that the first of the queue wants to share ("inbox|owner|limit"),
-- need shared.lua: the scripts here then change nothing and answer 2.

-- include: remember.lua

local RESERVED = 2000 -- ms for which a lock is reserved for an owner that does not answer
local UNUSED = 10000  -- ms for which a queue is kept at least once a place was put back

-- read splits a lock: its fence, whether it is reserved, its owner, and the owner's place in the
-- queue. A lock that is free has only a fence, and for a shared lock read returns nothing.
local function read(text)
  local fence, mark, rest = string.match(text, '^(%d+)([|?]?)(.*)$')
  if mark == '|' then
    return fence, false, rest
  elseif mark == '?' then
    return fence, true, string.match(rest, '|(.*)$'), rest
  end
  return fence
end

-- notify publishes to the inbox of a place, and reports whether its process may be there. A "+"
-- before the inbox means that the server had confirmed the subscription: if no connection has it
-- now, the process is gone.
local function notify(place, prefix)
  local mark, inbox, owner = string.match(place, '^(%+?)([^|]*)|([^|]*)')
  return redis.call('PUBLISH', inbox, prefix .. owner) > 0 or mark == ''
end

-- back puts places back at the head of the queue, which is kept for at least as long as before.
local function back(queue, places, first, rest)
  for i = #places, first, -1 do redis.call('LPUSH', queue, places[i]) end
  redis.call('PEXPIRE', queue, math.max(rest, UNUSED))
end

local MOST = 2000 -- places that one step reads: no queue is longer, unless it was tampered with

-- hint notifies the next owner in the queue that the lock is reserved for another: it may have to
-- probe if that one does not answer. Places of processes that are gone are deleted.
local function hint(queue)
  for _ = 1, MOST do
    local place = redis.call('LINDEX', queue, 0)
    if not place or notify(place, '|') then return end
    redis.call('LPOP', queue)
  end
end

-- pass reserves a free lock for the first in its queue whose process is there, or that is the
-- caller, and wakes it; processes that are gone lose their places. If no process is there, the
-- server may have lost all connections: then pass reserves the lock for the first place. It returns
-- false if the queue is empty, and nil if the first owner wants to share. A server at maxmemory
-- accepts its first write.
local function pass(lock, queue, fence, asker)
  local rest, places = redis.call('PTTL', queue), {}
  local place = redis.call('LPOP', queue)
  while place do
    places[#places + 1] = place
    local owner = string.match(place, '^[^|]*|([^|]*)$')
    if not owner then
      back(queue, places, 1, rest)
      return nil
    elseif owner == asker or notify(place, '') or #places > MOST then
      break
    end
    place = redis.call('LPOP', queue)
  end
  if #places == 0 then return false end
  redis.call('SET', lock, fence .. '?' .. (place or places[1]), 'PX', RESERVED)
  if place then
    hint(queue)
  else
    back(queue, places, 2, rest)
  end
  return true
end

local DAY = 86400000000 -- µs by which a fence may lie ahead

-- ask grants a lock that is free and that no owner waits for, or that is reserved for the caller.
-- With barge it takes the lock before the owners that wait, even if it is reserved. The script must
-- have read its clock into now.
--
-- A SET comes before every answer: only a master with free memory accepts it, so a replica never
-- answers that another owner has the lock. The SET that should change nothing would leave a free
-- lock if it ever did change something.
local function ask(lock, queue, me, ttl, seen, barge)
  local text = redis.call('GET', lock)
  if not text or not string.find(text, '%D') then
    local fence = math.max(now, seen + 1, (text or 0) + 1)
    if fence > now + DAY then return {3, string.format('%.0f', fence), now} end
    fence = string.format('%.0f', fence)
    redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl)
    local passed = not barge and pass(lock, queue, fence, me)
    if passed == nil then -- a bare fence before a queue would let the next caller overtake it
      if text then remember(lock, text) else redis.call('DEL', lock) end
      return {2, '0', 0}
    elseif not passed then
      return {1, fence, tonumber(ttl)}
    end
    text = redis.call('GET', lock)
  else
    redis.call('SET', lock, '0', 'PX', ttl, 'NX')
  end

  local last, kept, owner, place = read(text)
  if not last then
    return {2, '0', 0}
  elseif owner == me and not kept then
    return {1, last, redis.call('PTTL', lock)}
  elseif owner == me or kept and barge then
    local fence = math.max(now, seen + 1, last + 1)
    if fence > now + DAY then return {3, string.format('%.0f', fence), now} end
    if owner ~= me then
      back(queue, {place}, 1, redis.call('PTTL', queue))
    end
    fence = string.format('%.0f', fence)
    redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl)
    return {1, fence, tonumber(ttl)}
  end
  return {0, '0', redis.call('PTTL', lock)}
end

-- attempt returns the result of step, or "!error": an error about one lock, such as a key of a
-- foreign type, is no answer about the others.
local function attempt(step, ...)
  local ok, reply = pcall(step, ...)
  if ok then return reply end
  return '!' .. (type(reply) == 'table' and reply.err or tostring(reply))
end
