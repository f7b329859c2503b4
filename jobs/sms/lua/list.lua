-- list: reads the messages of one state.
--
-- KEYS  1 body    2 status    3 the state's set
-- ARGV  1 how many at most    2 ZRANGE or ZREVRANGE
--
-- Returns {id, body, status, id, …}, each '' if missing.
local command = ARGV[2] == 'ZREVRANGE' and 'ZREVRANGE' or 'ZRANGE'
local answer = {}
for _, id in ipairs(redis.call(command, KEYS[3], 0, ARGV[1] - 1)) do
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', KEYS[1], id) or ''
  answer[#answer + 1] = redis.call('HGET', KEYS[2], id) or ''
end
return answer
