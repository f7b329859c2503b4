-- acquire asks for plain locks, each for itself: an answer about one lock says nothing
-- about another.
--
-- KEYS     for each lock the lock and its queue
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
local locks, queues, replies, rest, granted = {}, {}, {}, {}, {}
for i = 1, #KEYS / 2 do locks[i], queues[i] = KEYS[2 * i - 1], KEYS[2 * i] end
local waited = redis.call('EXISTS', unpack(queues)) > 0
local texts = redis.call('MGET', unpack(locks))

for i, lock in ipairs(locks) do
  local text, at = texts[i], 4 * i - 3
  local last = text and not string.find(text, '%D') and tonumber(text) -- of a lock that was freed
  local won
  if granted[lock] or now <= tonumber(ARGV[at + 2]) or waited and redis.call('EXISTS', queues[i]) == 1 then
    won = false
  elseif not text then
    won = redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1], 'NX')
  elseif last and last < now then
    won = redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1])
  end
  if won then
    granted[lock], replies[i] = true, now
  else
    rest[#rest + 1] = i
  end
end
if #rest == 0 then return replies end

-- include: queue.lua

for _, i in ipairs(rest) do
  local at = 4 * i - 3
  replies[i] = attempt(ask, locks[i], queues[i], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3] == '1')
end
return replies
