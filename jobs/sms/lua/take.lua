-- take: returns messages to a run: first the messages that were taken and never marked, then the
-- due messages, from two lanes: messages that were never refused, and messages that were.
-- KEYS  1 body    2 status    3 taken    4 fence    5 broken    6 delivered    7 sent    8 repeated
--       9 queued  10 retry
-- ARGV  1 fence   2 run       3 call (fresh for each call, the same when it is sent again)
--       4 how many at most    5 how many at most from retry, the lane of refused messages
--       6 1: read that lane first
--       7 1: try a message if a pause is in doubt    then the ids that the run already has
-- Returns {'ok', now, pauses, ms left, id, body, status, id, …} with the time in Unix ms and the
-- number of pauses since a message got through; {'paused', ms left, pauses, reason} if messages
-- are due and the gateway is paused; or {'fenced', fence, run} with the highest fence seen if
-- that is not this run's. The same call sent again returns the same messages and changes nothing.
-- If a pause is in doubt, the refused messages themselves may be the reason. A run that tries
-- then gets the latest message that was never refused, and ms left is not 0.
-- A message that an earlier run has left, and that was delivered according to its receipt, counts as
-- sent. A message without a body or a readable status is put aside into broken. A stored fence
-- that is invalid, or a day ahead of both the clock and the caller, is ignored.
local fence, run, call, room = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local seen = redis.call('HMGET', KEYS[4], 'fence', 'run', 'call', 'given', 'until', 'pauses', 'reason', 'doubt')
if seen[1] then
  local mine, highest = tonumber(fence), nil
  if string.match(seen[1], '^%d+$') and #seen[1] <= 16 then highest = tonumber(seen[1]) end
  local day = 86400 * 1000000
  if not highest or (highest > mine + day and highest > t[1] * 1000000 + day) then
    seen[1], seen[3] = false, false
  elseif mine < highest or (mine == highest and run ~= seen[2]) then
    return {'fenced', seen[1], seen[2] or '-'}
  end
end

local pauses = string.match(seen[6] or '', '^%d+$') or '0'
local left = 0
if string.match(seen[5] or '', '^%d+$') and #seen[5] <= 16 then left = math.max(0, tonumber(seen[5]) - tonumber(now)) end
if left > 3600000 then left = 0 end -- longer than any pause: invalid
local answer, given = {'ok', now, pauses, string.format('%.0f', left)}, {}

local function give(id, body, status)
  answer[#answer + 1] = id
  answer[#answer + 1] = body
  answer[#answer + 1] = status
  given[#given + 1] = id
  room = room - 1
end

if seen[1] and tonumber(seen[1]) == tonumber(fence) and seen[3] == call then
  for id in string.gmatch(seen[4] or '', '%S+') do
    local status, body = redis.call('HGET', KEYS[2], id), redis.call('HGET', KEYS[1], id)
    if status and body and string.match(status, '^taken %d+ %d+ %d+ (%d+) ') == fence then give(id, body, status) end
  end
  return answer
end

redis.call('HSET', KEYS[4], 'fence', fence, 'run', run, 'call', call, 'given', '')

-- sent is 1 if the message may have been sent before the run that had it stopped.
local function take(set, id, sent)
  local status, body = redis.call('HGET', KEYS[2], id) or '', redis.call('HGET', KEYS[1], id)
  local state, takes, attempts, sends, holder, changed, due =
    string.match(status, '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) %S+ ')
  local fit = body and (state == 'queued' or state == 'taken')
  for _, n in ipairs({takes or '', attempts or '', sends or '', holder or '', changed or '', due or ''}) do
    fit = fit and #n > 0 and #n <= 16 and tonumber(n) < 9007199254740992
  end
  redis.call('ZREM', set, id)
  if not fit then
    redis.call('ZADD', KEYS[5], now, id)
    return
  end
  if redis.call('ZSCORE', KEYS[6], id) then
    sends = math.max(1, tonumber(sends))
    redis.call('HSET', KEYS[2], id, string.format('sent %s %s %.0f %s %s %s %s delivered', takes, attempts, sends, holder, now, due, run))
    redis.call('ZADD', KEYS[7], now, id)
    if sends > 1 then redis.call('ZADD', KEYS[8], now, id) end
    return
  end
  status = string.format('taken %.0f %.0f %.0f %s %s %s %s ',
    takes + 1, attempts + 1, sends + sent, fence, now, due, run)
  redis.call('HSET', KEYS[2], id, status)
  redis.call('ZADD', KEYS[3], fence, id)
  give(id, body, status)
end

-- try returns the latest due message that was never refused: earlier ones may be refused for the same
-- reason as others.
local function try()
  local id = redis.call('ZRANGE', KEYS[9], now, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
  if id then take(KEYS[9], id, 0) end
  return id
end

if left > 0 then
  local due = redis.call('ZCARD', KEYS[3])
  due = due + redis.call('ZCOUNT', KEYS[9], '-inf', now) + redis.call('ZCOUNT', KEYS[10], '-inf', now)
  if due == 0 then return answer end
  if ARGV[7] == '1' and seen[8] == '1' then
    local looks = 0
    while #given == 0 and looks < 500 and try() do looks = looks + 1 end -- skips the messages that are put aside
  end
  if #given == 0 then return {'paused', string.format('%.0f', left), pauses, seen[7] or ''} end
  redis.call('HSET', KEYS[4], 'given', given[1])
  return answer
end

-- The run takes these messages without a check of their fences: none is higher than the run's.
local held = {}
for i = 8, #ARGV do held[ARGV[i]] = true end
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, room + #ARGV - 8)) do
  if room > 0 and not held[id] then take(KEYS[3], id, 1) end
end

-- A lane is read again after messages were put aside, up to 500 of them, so that they hide no due
-- message.
local looked = 0
local function from(lane, most)
  local rest = room - math.min(room, most) -- for other lanes
  while room > rest and looked < 500 do
    local before, ids = room, redis.call('ZRANGEBYSCORE', lane, '-inf', now, 'LIMIT', 0, room - rest)
    for _, id in ipairs(ids) do take(lane, id, 0) end
    looked = looked + #ids
    if before - room == #ids then return end
  end
end

local refused = tonumber(ARGV[5])
if ARGV[6] == '1' then from(KEYS[10], refused) end
from(KEYS[9], room)
if ARGV[6] ~= '1' then from(KEYS[10], refused) end
redis.call('HSET', KEYS[4], 'given', table.concat(given, ' '))
return answer
