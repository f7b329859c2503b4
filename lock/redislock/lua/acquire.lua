-- acquire asks for plain locks, each for itself: an answer about one lock says nothing
-- about another.
--
-- KEYS     the locks, then the queue of each
-- ARGV     for each lock the owner, the TTL in ms, the highest fence that the asker has
--          seen, and 1 to barge
-- returns  for each lock
--            fence             the lock was free and is the owner's for the whole TTL
--            {1, fence, ms}    it is the owner's for so long, also when it asks again
--            {0, "0", ms}      another owner has it for so long, or is the next
--            {2, "0", 0}       it is for shared_acquire
--            {3, fence, now}   the fence would lie more than a day ahead of now, the
--                              store's µs: nothing was changed
--            "!error"          there is no answer
--
-- A lock that is free and that no owner waits for takes one SET. The other locks need the
-- functions of queue.lua, which Redis makes anew each time it runs a script.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local instant = string.format('%.0f', now)
local n, replies, rest, granted = #KEYS / 2, {}, nil, nil
local waited = redis.call('EXISTS', unpack(KEYS, n + 1)) > 0
local texts = redis.call('MGET', unpack(KEYS, 1, n))

for i = 1, n do
  local lock, text, at = KEYS[i], texts[i], 4 * i - 3
  local last = text and not string.find(text, '%D') and tonumber(text) -- of a lock that was freed
  local won
  if granted and granted[lock] or now <= tonumber(ARGV[at + 2]) or waited and redis.call('EXISTS', KEYS[n + i]) == 1 then
    won = false
  elseif not text then
    won = redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1], 'NX')
  elseif last and last < now then
    won = redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1])
  end
  if won then
    replies[i] = now
    if n > 1 then
      granted = granted or {}
      granted[lock] = true
    end
  else
    rest = rest or {}
    rest[#rest + 1] = i
  end
end
if not rest then return replies end

-- include: queue.lua

for _, i in ipairs(rest) do
  local at = 4 * i - 3
  replies[i] = attempt(ask, KEYS[i], KEYS[n + i], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3] == '1')
end
return replies
