-- accept: adds a message to the outbox, each id once.
--
-- KEYS  1 body    2 status    3 broken    4 queued
-- ARGV  1 id      2 body      3 due in Unix ms ('' for at once)
--
-- Returns new, known (with the same body) or conflict (known with another body).
-- A repeated call changes nothing.
local id, body, due = ARGV[1], ARGV[2], ARGV[3]
local known = redis.call('HGET', KEYS[1], id)
if known then return known == body and 'known' or 'conflict' end
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
if due == '' then due = now end
redis.call('HSET', KEYS[1], id, body)
-- state, takes, attempts, sends, fence, changed, due, run, reason
redis.call('HSET', KEYS[2], id, 'queued 0 0 0 0 ' .. now .. ' ' .. due .. ' - ')
redis.call('ZADD', KEYS[4], due, id)
redis.call('ZREM', KEYS[3], id) -- it was put aside without its body
return 'new'
