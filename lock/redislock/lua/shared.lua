-- The functions for plain locks that owners may share, included by the scripts that use
-- them. They handle every lock; queue.lua is the fast path for locks with one owner at a
-- time.
--
-- A lock with one holder is stored as in queue.lua, and so is the last fence of a free lock.
-- A shared lock is the string "+fence", with the last fence, beside
--   holders  a hash: owner = "fence|until|limit|", or while a place is reserved for an owner
--            of the queue "order|until|limit|inbox"; '' = "ms|place", the last sign of
--            life of the first of the queue
--   ends     a sorted set of the owners by the ms until which each holds it
--   limits   a sorted set of the owners by their limits
-- All four expire with the last holder. In the queue, an owner that wants to share
-- is "inbox|owner|limit".

-- include: remember.lua

local call, match, sub = redis.call, string.match, string.sub
local tonumber = tonumber
local NOLIMIT = 2147483647
local RESERVED = 2000 -- ms for which a place is reserved for an owner that does not answer
local ABSENT = 5000   -- ms for which the first of a queue may block the others without a probe
local UNUSED = 10000  -- ms for which a queue is kept at least once a place was put back
local DAY = 86400000000 -- µs by which a fence may lie ahead
local MOST = 2000     -- places, or holders whose time is over, that one step reads: see queue.lua
local MANY = 10000    -- holders that one step reads
local LONGEST = 172800000 -- ms by which a deadline may lie ahead: the longest TTL, and as much again for a clock put back

local clock = call('TIME')
local us = clock[1] * 1000000 + clock[2]
local ms = math.floor(us / 1000)

local function int(x) return string.format('%.0f', x) end

-- at returns the lock whose five keys begin at KEYS[i]. It has count holders: one alone, or some
-- that share.
local function at(i)
  return {
    lock = KEYS[i], queue = KEYS[i + 1], holders = KEYS[i + 2], ends = KEYS[i + 3], limits = KEYS[i + 4],
    count = 0, last = 0,
  }
end

local function forget(s, owner)
  call('HDEL', s.holders, owner)
  call('ZREM', s.ends, owner)
  call('ZREM', s.limits, owner)
  s.count, s.changed = s.count - 1, true
end

-- look reads the holders of a lock. It deletes those whose time is over, or lies further ahead than
-- the end of any lease. If there are more of them than one step reads, the rest counts as holders
-- until a later step deletes them.
local function look(s)
  local text = call('GET', s.lock)
  if not text then return end
  if not string.find(text, '%D') then
    s.freed, s.last = text, tonumber(text)
    return
  end
  if sub(text, 1, 1) ~= '+' then
    local fence, mark, rest = match(text, '^(%d+)([|?])(.*)$')
    local kept = mark == '?'
    s.alone = {fence = fence, kept = kept, owner = kept and match(rest, '|(.*)$') or rest, place = rest}
    s.count, s.last = 1, tonumber(fence)
    return
  end
  s.shared, s.last = true, tonumber(sub(text, 2))
  local over = call('ZRANGE', s.ends, '-inf', int(ms), 'BYSCORE', 'LIMIT', 0, MOST)
  s.count = call('ZCARD', s.ends)
  for i = 1, #over do forget(s, over[i]) end
  local far = call('ZRANGE', s.ends, '(' .. int(ms + LONGEST), '+inf', 'BYSCORE', 'LIMIT', 0, MOST - #over)
  for i = 1, #far do forget(s, far[i]) end
end

local function entry(text)
  local fence, till, limit, inbox = match(text, '^(%d+)|(%d+)|(%d+)|(.*)$')
  return {fence = fence, kept = inbox ~= '', till = tonumber(till), limit = tonumber(limit), inbox = inbox}
end

-- members reads the holders of a shared lock, at most MANY, those whose time is over first coming
-- first.
local function members(s)
  local owners, all = call('ZRANGE', s.ends, 0, MANY - 1), {}
  for i = 1, #owners, 500 do
    local texts = call('HMGET', s.holders, unpack(owners, i, math.min(i + 499, #owners)))
    for k = 1, #texts do
      local e = texts[k] and entry(texts[k])
      if e and e.fence then
        e.owner = owners[i + k - 1]
        all[#all + 1] = e
      end
    end
  end
  return all
end

-- holder returns an owner's lease or reservation of a lock, or nil.
local function holder(s, me)
  if s.alone then return s.alone.owner == me and s.alone or nil end
  local text = s.shared and call('HMGET', s.holders, me)[1]
  local h = text and entry(text) or nil
  if h and h.till and (h.till <= ms or h.till > ms + LONGEST) then -- look has not deleted it yet
    forget(s, me)
    return nil
  end
  return h
end

-- left returns for how many ms a holder has the lock.
local function left(s, h)
  if s.alone then return call('PTTL', s.lock) end
  return h.till - ms
end

-- soonest returns the ms until the first holder's time is over.
local function soonest(s)
  if s.alone then return call('PTTL', s.lock) end
  return math.min(math.max(call('ZRANGE', s.ends, 0, 0, 'WITHSCORES')[2] - ms, 0), LONGEST / 2)
end

-- allows reports whether the smallest limit of the holders allows so many. A stored limit that
-- differs from the holder's limit is corrected, as far as one step reads them.
local function allows(s, count)
  for _ = 1, MOST do
    local owner, least = unpack(call('ZRANGE', s.limits, 0, 0, 'WITHSCORES'))
    if not least or count <= tonumber(least) then return true end
    local text = call('HMGET', s.holders, owner)[1]
    local limit = text and entry(text).limit
    if limit == tonumber(least) then return false end
    call('ZREM', s.limits, owner)
    if limit then call('ZADD', s.limits, int(limit), owner) end
  end
  return false
end

-- fits is the rule: the holders, and one more, are no more than the smallest limit among them.
local function fits(s, limit)
  if s.count == 0 then return true end
  if s.alone or s.count + 1 > limit then return false end
  return allows(s, s.count + 1)
end

-- alone makes one owner the only holder, or reserves the lock for it.
local function alone(s, fence, mark, place, ttl)
  if s.shared then call('DEL', s.holders, s.ends, s.limits) end
  call('SET', s.lock, fence .. mark .. place, 'PX', ttl)
  s.alone, s.shared, s.count = {fence = fence, kept = mark == '?', owner = match(place, '([^|]*)$'), place = place}, false, 1
end

-- put makes an owner one of the holders, or reserves a place for it if it has an inbox.
local function put(s, owner, fence, limit, ttl, inbox)
  if not s.shared then
    call('DEL', s.holders, s.ends, s.limits)
    s.shared, s.alone, s.count = true, nil, 0
  end
  local till = int(ms + ttl)
  call('HSET', s.holders, owner, fence .. '|' .. till .. '|' .. limit .. '|' .. (inbox or ''))
  call('ZADD', s.ends, till, owner)
  call('ZADD', s.limits, limit, owner)
  s.count, s.changed = s.count + 1, true
end

-- drop takes the lock, or the reservation, from an owner.
local function drop(s, me)
  if s.alone then
    remember(s.lock, int(s.last))
    s.alone, s.count = nil, 0
  else
    forget(s, me)
  end
end

-- settle writes the state of a shared lock, and sets its expiry.
local function settle(s)
  if not s.shared or not s.changed then return end
  local rest = s.count > 0 and call('ZRANGE', s.ends, 0, 0, 'REV', 'WITHSCORES')[2] - ms or 0
  if rest <= 0 then -- the lock has no holder, except those that look has not deleted yet
    call('DEL', s.lock, s.holders, s.ends, s.limits)
    if s.last > 0 then remember(s.lock, int(s.last)) end
    return
  end
  rest = int(math.min(rest, LONGEST))
  call('SET', s.lock, '+' .. int(s.last), 'PX', rest)
  call('PEXPIRE', s.holders, rest)
  call('PEXPIRE', s.ends, rest)
  call('PEXPIRE', s.limits, rest)
end

-- alive records that the first of the queue gave a sign of life now.
local function alive(s, place) call('HSET', s.holders, '', int(ms) .. '|' .. place) end

-- notify publishes to the inbox of a place, and reports whether its process may be there: see
-- queue.lua.
local function notify(place, prefix)
  local mark, inbox, owner = match(place, '^(%+?)([^|]*)|([^|]*)')
  return call('PUBLISH', inbox, prefix .. owner) > 0 or mark == ''
end

-- absent reports whether the first of the queue is gone, or gave no sign of life for long, while
-- others might fit. It is notified when it becomes the first, and must give signs of life from then
-- on. A time in the future was forged, or the clock was put back.
local function absent(s, place)
  if not s.shared then return false end
  local when, seen = match(call('HMGET', s.holders, '')[1] or '', '^(%d+)|(.*)$')
  if seen == place and tonumber(when) <= ms then return ms - when > ABSENT end
  alive(s, place)
  return not notify(place, '')
end

-- keep reserves the lock for the owner of a place.
local function keep(s, place)
  local inbox, owner, limit = match(place, '^([^|]*)|([^|]*)|?(%d*)$')
  limit = tonumber(limit) or 1
  if limit == 1 then
    alone(s, int(s.last), '?', place, RESERVED)
  else
    s.last = s.last + 1
    put(s, owner, int(s.last), int(limit), RESERVED, inbox)
  end
end

-- hint notifies the next owner in the queue that the lock is reserved for another: it may have to
-- probe if that one does not answer.
local function hint(s)
  for _ = 1, MOST do
    local place = call('LINDEX', s.queue, 0)
    if not place or notify(place, '|') then return end
    call('LPOP', s.queue)
  end
end

-- serve reserves the lock for the first of its queue, and wakes it, and does the same for the next
-- as long as they fit beside the holders. Processes that are gone lose their places. If no process
-- of the queue is there, the server may have lost all connections, and the lock is reserved for the
-- first place.
local function serve(s)
  local gone, rest, kept = {}, call('PTTL', s.queue), false
  for n = 0, MOST do
    local place = call('LINDEX', s.queue, 0)
    if not place then break end
    local owner, limit = match(place, '^[^|]*|([^|]*)|?(%d*)$')
    if not fits(s, tonumber(limit) or 1) then
      if not absent(s, place) then break end
      call('LPOP', s.queue)
    else
      call('LPOP', s.queue)
      if owner == s.asker or notify(place, '') or n == MOST then
        keep(s, place)
        kept = true
      else
        gone[#gone + 1] = place
      end
    end
  end
  if #gone > 0 and not kept and call('EXISTS', s.queue) == 0 then
    keep(s, gone[1])
    for i = #gone, 2, -1 do call('LPUSH', s.queue, gone[i]) end
    call('PEXPIRE', s.queue, math.max(rest, UNUSED))
  elseif kept then
    hint(s)
  end
end

-- displace moves the owners for which the lock is only reserved back to the queue, if an owner fits
-- without them but not beside them. If there are more than MANY holders, it does nothing.
local function displace(s, limit)
  if fits(s, limit) or s.count > MANY then return end
  local kept, count = {}, 0
  if s.alone and s.alone.kept then
    kept[1] = {owner = s.alone.owner, place = s.alone.place, fence = s.alone.fence}
  elseif s.shared then
    for _, e in ipairs(members(s)) do
      if e.kept then
        e.place = e.inbox .. '|' .. e.owner .. '|' .. int(e.limit)
        kept[#kept + 1] = e
      else
        count, limit = count + 1, math.min(limit, e.limit)
      end
    end
  end
  if #kept == 0 or count + 1 > limit then return end
  table.sort(kept, function(a, b) return tonumber(a.fence) > tonumber(b.fence) end)
  for i = 1, #kept do
    call('LPUSH', s.queue, kept[i].place)
    drop(s, kept[i].owner)
  end
  if call('PTTL', s.queue) < UNUSED then call('PEXPIRE', s.queue, UNUSED) end
end

-- may returns the lease that the owner has already, or whether it may be granted the lock.
local function may(s, me, limit, barge)
  local mine = holder(s, me)
  if mine and not mine.kept then return mine end
  if barge then
    displace(s, limit)
  else
    serve(s)
    mine = holder(s, me)
  end
  if mine then
    drop(s, me)
    return fits(s, limit)
  end
  return fits(s, limit) and (barge or call('EXISTS', s.queue) == 0)
end

-- following returns the fence of a grant to a caller that has seen a fence.
local function following(s, seen) return math.max(us, seen + 1, s.last + 1) end

-- grant makes the owner a holder and returns its fence.
local function grant(s, me, ttl, seen, limit)
  s.last = following(s, seen)
  local fence = int(s.last)
  if limit == 1 then
    alone(s, fence, '|', me, ttl)
  else
    put(s, me, fence, int(limit), ttl)
  end
  return fence
end

-- A hash stores how leases were taken, for as long as they had left: owner = "how|fence". The
-- renewal of a holder reads there why its lease is lost. The hash has at most TAKEN leases, counted
-- in the field ''. Then it begins anew, and owners of the earlier leases are answered without a
-- cause.

local TAKEN = 1000

-- take takes the lock from an owner that holds it. The fence that is remembered is one that no
-- owner has: a release whose fence is the remembered one is answered as the release that freed the
-- lock.
local function take(s, taken, owner, h)
  local rest = left(s, h)
  s.taken = s.taken or tonumber(call('HMGET', taken, '')[1] or 0)
  if s.taken >= TAKEN then
    call('DEL', taken)
    s.taken = 0
  end
  s.taken = s.taken + 1
  call('HSET', taken, '', int(s.taken), owner, 'force|' .. h.fence)
  if call('PTTL', taken) < rest then call('PEXPIRE', taken, rest) end
  s.last = s.last + 1
  drop(s, owner)
end
