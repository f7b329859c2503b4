-- take: gives messages to a run: those that were taken and never marked, by an
-- older run or by this one, then those that are due.
--
-- KEYS  1 body    2 status    3 queued    4 taken    5 fence
-- ARGV  1 fence   2 run       3 call (fresh for each call, the same when it is sent again)
--       4 how many at most
--
-- Returns {'ok', id, body, status, id, …}, or {'fenced', fence, run} with the
-- highest fence seen when that is not this run's. The same call sent again gives
-- the same messages and changes nothing.
local fence, run, call, room = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local seen = redis.call('HMGET', KEYS[5], 'fence', 'run', 'call', 'given')
if seen[1] then
  local mine, highest = tonumber(fence), tonumber(seen[1])
  if mine < highest or (mine == highest and run ~= seen[2]) then
    return {'fenced', seen[1], seen[2]}
  end
end

local answer, given = {'ok'}, {}

local function give(id, status)
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', KEYS[1], id)
  answer[#answer + 1] = status
  given[#given + 1] = id
  room = room - 1
end

if seen[1] == fence and seen[3] == call then
  for id in string.gmatch(seen[4], '%S+') do
    local status = redis.call('HGET', KEYS[2], id)
    if status and string.match(status, '^taken %d+ %d+ %d+ (%d+) ') == fence then give(id, status) end
  end
  return answer
end

local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('HSET', KEYS[5], 'fence', fence, 'run', run, 'call', call, 'given', '')

-- sent is 1 where the message may have been sent before whoever had it went silent.
local function take(id, sent)
  local status = redis.call('HGET', KEYS[2], id)
  local takes, attempts, sends, due = string.match(status, '^%a+ (%d+) (%d+) (%d+) %d+ %d+ (%d+) ')
  status = string.format('taken %.0f %.0f %.0f %s %s %s %s ',
    takes + 1, attempts + 1, sends + sent, fence, now, due, run)
  redis.call('HSET', KEYS[2], id, status)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZADD', KEYS[4], fence, id)
  give(id, status)
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', fence, 'LIMIT', 0, room)) do
  take(id, 1)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, room)) do
  take(id, 0)
end
redis.call('HSET', KEYS[5], 'given', table.concat(given, ' '))
return answer
