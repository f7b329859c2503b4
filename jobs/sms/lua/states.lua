-- states: reads the states of messages, and the place of a list.
-- KEYS  1 status  2 places
-- ARGV  1 list    then ids
-- Returns {place, state…}: '' for a missing place, and for an id without a status.
local answer = {redis.call('HGET', KEYS[2], ARGV[1]) or ''}
for i = 2, #ARGV do
  answer[i] = string.match(redis.call('HGET', KEYS[1], ARGV[i]) or '', '^%a+') or ''
end
return answer
