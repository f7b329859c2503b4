-- forget: deletes messages together with their ids.
--
-- KEYS  1 body    2 status    3 taken    then all other sets
-- ARGV  per message: id, body
--
-- Returns per message: ok, taken, or gone (it is not there with this body).
local answer = {}
for i = 1, #ARGV, 2 do
  local id = ARGV[i]
  if redis.call('HGET', KEYS[1], id) ~= ARGV[i + 1] then
    answer[#answer + 1] = 'gone'
  elseif redis.call('ZSCORE', KEYS[3], id) then
    answer[#answer + 1] = 'taken'
  else
    redis.call('HDEL', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
    for set = 4, #KEYS do redis.call('ZREM', KEYS[set], id) end
    answer[#answer + 1] = 'ok'
  end
end
return answer
