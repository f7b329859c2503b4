-- accept: takes messages into the outbox, each id once.
--
-- KEYS  1 body    2 status    3 broken    4 queued    5 urgent    6 low
-- ARGV  per message: id, body, due in Unix ms ('' for at once), lane: 0 to 2 for KEYS 4 to 6
--
-- Returns per message: 1 new, 0 known with the same body, -1 known with another.
-- Asked again it changes nothing.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))

local answer = {}
for i = 1, #ARGV, 4 do
  local id, body, due = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local known = redis.call('HGET', KEYS[1], id)
  if known == body then
    answer[#answer + 1] = 0
  elseif known then
    answer[#answer + 1] = -1
  else
    if due == '' then due = now end
    redis.call('HSET', KEYS[1], id, body)
    -- state, takes, attempts, sends, fence, changed, due, run, reason
    redis.call('HSET', KEYS[2], id, 'queued 0 0 0 0 ' .. now .. ' ' .. due .. ' - ')
    redis.call('ZADD', KEYS[4 + ARGV[i + 3]], due, id)
    redis.call('ZREM', KEYS[3], id) -- it was put aside without its body
    answer[#answer + 1] = 1
  end
end
return answer
