-- scan: searches some of the messages for those that name a person.
-- KEYS  1 body
-- ARGV  1 cursor, 0 at first    2 about how many messages to read    3 the text to find
-- Returns {cursor, id, body, …}; cursor 0: these were the last.
local got = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local answer = {got[1]}
for i = 1, #got[2], 2 do
  if string.find(got[2][i + 1], ARGV[3], 1, true) then
    answer[#answer + 1] = got[2][i]
    answer[#answer + 1] = got[2][i + 1]
  end
end
return answer
