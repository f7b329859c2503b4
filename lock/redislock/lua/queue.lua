-- The parts of a plain lock that one owner has at a time, and its queue.
--
-- The lock is a string that expires with the lease: "fence|owner", or while a
-- free lock is kept for the first of its queue "fence?inbox|owner", with the
-- fence before. A bare "fence" is the last one of a lock that was freed: see
-- remember.lua. The queue is a list of "inbox|owner", the oldest first; an inbox
-- is a channel to which the owner's process subscribes.
--
-- A lock that owners share, or that the first of its queue wants to share
-- ("inbox|owner|limit"), is for shared.lua: the scripts here then change nothing
-- and answer 2.

-- include: remember.lua

local RESERVED = 2000 -- ms that a lock is kept for an owner that does not answer
local UNUSED = 10000  -- ms that a queue stays at least once a place was put back

-- read takes a lock apart: its fence, whether it is kept, its owner, and the
-- owner's place in the queue. One that is free has a fence alone, and of one that is
-- shared it returns nothing.
local function read(text)
  local fence, mark, rest = string.match(text, '^(%d+)([|?]?)(.*)$')
  if mark == '|' then
    return fence, false, rest
  elseif mark == '?' then
    return fence, true, string.match(rest, '|(.*)$'), rest
  end
  return fence
end

-- notify publishes to the inbox of a place, and reports whether its process may be
-- there. A "+" before the inbox says that the server had confirmed the subscription:
-- if no connection has it now, the process is gone.
local function notify(place, prefix)
  local mark, inbox, owner = string.match(place, '^(%+?)([^|]*)|([^|]*)')
  return redis.call('PUBLISH', inbox, prefix .. owner) > 0 or mark == ''
end

-- back puts places back at the head of the queue, which lives for at least as long
-- as before.
local function back(queue, places, first, rest)
  for i = #places, first, -1 do redis.call('LPUSH', queue, places[i]) end
  redis.call('PEXPIRE', queue, math.max(rest, UNUSED))
end

local MOST = 2000 -- places that one step looks at: no queue is longer, unless it was tampered with

-- hint notifies the next in the queue that the lock is kept for another: it may have to
-- look when that one does not answer. Places of processes that are gone are dropped.
local function hint(queue)
  for _ = 1, MOST do
    local place = redis.call('LINDEX', queue, 0)
    if not place or notify(place, '|') then return end
    redis.call('LPOP', queue)
  end
end

-- pass keeps a free lock for the first in its queue whose process is there, or that
-- asks, and wakes it; processes that are gone lose their places. If none is there
-- the server may have lost all connections: then it is kept for the first. It
-- returns false if there is none, and nil if that one wants to share. Its first write
-- is one that a server at maxmemory accepts.
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

local DAY = 86400000000 -- µs that a fence may lie ahead

-- ask grants a lock that is free and that no owner waits for, or that is kept for the
-- asker. To barge is to take it before the owners that wait, also if it is kept. The
-- script has read its clock into now before.
--
-- A SET comes before every answer: only a master that has memory accepts it, so a
-- replica never answers for another owner. The one that changes nothing would leave a
-- free lock if it ever did change something.
local function ask(lock, queue, me, ttl, seen, barge)
  local text = redis.call('GET', lock)
  if not text or not string.find(text, '%D') then
    local fence = math.max(now, seen + 1, (text or 0) + 1)
    if fence > now + DAY then return {3, string.format('%.0f', fence), now} end
    fence = string.format('%.0f', fence)
    redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl)
    local passed = not barge and pass(lock, queue, fence, me)
    if passed == nil then
      remember(lock, fence)
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

-- attempt returns what step does, or "!error": an error about one lock, as that its key is
-- of a foreign type, is no answer about the others.
local function attempt(step, ...)
  local ok, reply = pcall(step, ...)
  if ok then return reply end
  return '!' .. (type(reply) == 'table' and reply.err or tostring(reply))
end
