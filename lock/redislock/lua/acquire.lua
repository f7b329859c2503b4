-- acquire requests plain locks, each for itself: an answer about one lock says nothing
-- about another.
--
-- KEYS     the locks, then the queue of each
-- ARGV     for each lock the owner, the TTL in ms, the highest fence that the caller has
--          seen, and 1 to barge
-- returns  for each lock
--            fence             the lock was free, and the owner has it for the whole TTL
--            {1, fence, ms}    the owner has it for so long, also if it repeats the request
--            {0, "0", ms}      another owner has it for so long, or is the next
--            {2, "0", 0}       shared_acquire must handle it
--            {3, fence, now}   the fence would lie more than a day ahead of now, the
--                              store's µs: nothing was changed
--            "!error"          there is no answer
--
-- A lock that is free and that no owner waits for takes one SET. The other locks need the
-- functions of queue.lua, which Redis creates anew in each run of a script.

local time = redis.call('TIME')
local instant = time[1] .. string.sub('00000' .. time[2], -6) -- the store's µs: 16 digits until the year 2286

if #KEYS == 2 then -- most requests: one lock, which was freed a short time ago
  local text, seen = redis.pcall('GET', KEYS[1]), ARGV[3]
  if text and #text == 16 and text < instant and not string.find(text, '%D') and (seen == '0' or #seen == 16 and seen < instant) then
    redis.call('SET', KEYS[1], instant .. '|' .. ARGV[1], 'PX', ARGV[2])
    return {tonumber(instant)}
  end
end

local n, replies, rest, granted, waited = #KEYS / 2, {}, nil, nil, nil
local texts = redis.call('MGET', unpack(KEYS, 1, n))

for i = 1, n do
  local lock, text, at, won = KEYS[i], texts[i], 4 * i - 3, false
  local seen = ARGV[at + 2]
  if granted and granted[lock] or seen ~= '0' and (#seen ~= 16 or seen >= instant) then
    won = false
  elseif text then
    -- A lock that was freed had no queue then, and gets none while it is free.
    won = #text == 16 and text < instant and not string.find(text, '%D')
      and redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1])
  else
    if waited == nil then waited = redis.call('EXISTS', unpack(KEYS, n + 1)) > 0 end
    won = not (waited and redis.call('EXISTS', KEYS[n + i]) == 1)
      and redis.call('SET', lock, instant .. '|' .. ARGV[at], 'PX', ARGV[at + 1], 'NX')
  end
  if won then
    replies[i] = tonumber(instant)
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

local now = tonumber(instant)

-- include: queue.lua

for _, i in ipairs(rest) do
  local at = 4 * i - 3
  replies[i] = attempt(ask, KEYS[i], KEYS[n + i], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3] == '1')
end
return replies
