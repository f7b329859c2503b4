-- shared_acquire requests locks that owners may share, all or none, and takes a place
-- in the queue if it is refused. An owner that has a place keeps it.
--
-- KEYS[1]  a key that never exists
-- then for each lock
--   KEYS   the lock, its queue, its holders, their ends, their limits
-- ARGV     owner, its place in the queue of the only lock or '', how many places
--          there may be, ms until the queue expires
-- then for each lock
--   ARGV   TTL in ms, the highest fence that the caller has seen, limit, 1 to barge
-- returns  {1, fence, ms left, ...} if the owner has the leases, also if it repeats the
--          request; {0, "0", ms left, n} if others have the n-th lock, or wait for it:
--          then the owner has none of them. n is -1 for the first of the queue of a
--          shared lock, which must probe; {3, fence, the store's µs} if a fence would
--          lie more than a day ahead: the owner has none of them
--
-- The first write is a SET, as in queue.lua: only a master with free memory
-- accepts it.

-- include: shared.lua

local me, place = ARGV[1], ARGV[2]
local locks, out, refused = {}, {1}, nil

for i = 1, (#KEYS - 1) / 5 do
  local s, a = at(5 * i - 3), 4 * i
  s.asker = me
  s.ttl, s.seen, s.limit, s.barge = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), ARGV[a + 4] == '1'
  if call('SET', s.lock, '+0', 'PX', s.ttl, 'NX') then
    call('DEL', s.holders, s.ends, s.limits)
    s.shared, s.changed = true, true
  else
    look(s)
  end
  locks[i] = s
end

if place ~= '' and locks[1].shared and call('LINDEX', locks[1].queue, 0) == place then
  alive(locks[1], place)
end

for i, s in ipairs(locks) do
  s.answer = may(s, me, s.limit, s.barge)
  if s.answer == true and following(s, s.seen) > us + DAY then
    s.answer, s.far = false, true
  end
  if not s.answer then
    refused = i
    break
  end
end

for i, s in ipairs(locks) do
  if refused then
    local mine = #locks > 1 and holder(s, me)
    if mine then drop(s, me) end
    serve(s)
  elseif s.answer == true then
    out[2 * i], out[2 * i + 1] = grant(s, me, s.ttl, s.seen, s.limit), s.ttl
    if s.barge then serve(s) end
  else
    out[2 * i], out[2 * i + 1] = s.answer.fence, left(s, s.answer)
  end
end

if refused then
  local s = locks[refused]
  out = {0, '0', s.count > 0 and soonest(s) or 0, refused}
  if s.far then
    out = {3, int(following(s, s.seen)), us}
  elseif place ~= '' then
    if not call('LPOS', s.queue, place) and call('LLEN', s.queue) < tonumber(ARGV[3]) then
      call('RPUSH', s.queue, place)
    end
    if call('PTTL', s.queue) < tonumber(ARGV[4]) then call('PEXPIRE', s.queue, ARGV[4]) end
    if s.shared and call('LINDEX', s.queue, 0) == place then out[4] = -1 end
  end
end
for _, s in ipairs(locks) do settle(s) end
return out
