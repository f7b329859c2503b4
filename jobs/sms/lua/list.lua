-- list: reads messages of one set, the highest score first.
--
-- KEYS  1 body    2 status    3 the set
-- ARGV  1 how many to leave out at the beginning    2 how many at most
--
-- Returns {id, body, status, …}, body and status '' if missing.
local answer = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], ARGV[1], ARGV[1] + ARGV[2] - 1, 'REV')) do
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', KEYS[1], id) or ''
  answer[#answer + 1] = redis.call('HGET', KEYS[2], id) or ''
end
return answer
