-- many_free goes the short way of release for many locks.
--
-- KEYS     for each lock the lock and its queue
-- ARGV     for each lock fence|owner
-- returns  1|letters: + for a lock that is freed, - for one that is for release,
--          whose answer may be any; nothing was changed then

local queues, out = {}, {'1|'}
for i = 1, #KEYS / 2 do queues[i] = KEYS[2 * i] end
local quiet = redis.call('EXISTS', unpack(queues)) == 0

for i = 1, #queues do
  local mine = redis.pcall('GET', KEYS[2 * i - 1]) == ARGV[i] and (quiet or redis.call('EXISTS', queues[i]) == 0)
  out[i + 1] = mine and redis.pcall('DEL', KEYS[2 * i - 1]) == 1 and '+' or '-'
end
return table.concat(out)
