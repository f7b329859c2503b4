-- many_ask goes the short way of acquire for many locks.
--
-- KEYS     for each lock the lock and its queue
-- ARGV     for each lock the owner; then their TTL in ms, and the highest fence that
--          any of them has seen
-- returns  fence|letters, then |ms left for each 0: + for a lock that is granted
--          with this fence, 0 for one that another owner has, or is the next of,
--          - for one that is for acquire, where nothing was changed
--
-- All grants have one fence: it grows from grant to grant of a lock, and here no
-- lock is granted twice.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local fence = string.format('%.0f|', now)
local ttl, new = ARGV[#ARGV - 1], now > tonumber(ARGV[#ARGV])
local locks, queues, out, left, given = {}, {}, {fence}, {}, {}
for i = 1, #KEYS / 2 do locks[i], queues[i] = KEYS[2 * i - 1], KEYS[2 * i] end
local quiet = redis.call('EXISTS', unpack(queues)) == 0
local texts = redis.call('MGET', unpack(locks))

for i = 1, #queues do
  local lock, text, me, letter = locks[i], texts[i], ARGV[i], '-'
  if new and (quiet or redis.call('EXISTS', queues[i]) == 0) then
    local last = text and not string.find(text, '%D') -- of a lock that was freed, see remember.lua
    local won
    if not last then
      won = redis.pcall('SET', lock, fence .. me, 'PX', ttl, 'NX')
      text = not won and (text or redis.pcall('GET', lock))
    elseif tonumber(text) < now and not given[lock] then
      given[lock] = true
      won = redis.pcall('SET', lock, fence .. me, 'PX', ttl)
    end
    if won and won.ok then
      letter = '+'
    elseif not last and type(text) == 'string' and string.find(text, '^%d') and string.sub(text, -#me - 1) ~= '|' .. me then
      letter, left[#left + 1] = '0', '|' .. redis.call('PTTL', lock)
    end
  end
  out[i + 1] = letter
end
return table.concat(out) .. table.concat(left)
