-- many_free goes the short way of release for many locks.
--
-- KEYS     for each lock the lock and its queue
-- ARGV     for each lock fence|owner
-- returns  1|letters: + for a lock that is freed, - for one that is for release,
--          whose answer may be any; nothing was changed then

local locks, queues, out = {}, {}, {'1|'}
for i = 1, #ARGV do locks[i], queues[i] = KEYS[2 * i - 1], KEYS[2 * i] end
local quiet = redis.call('EXISTS', unpack(queues)) == 0
local held = redis.call('MGET', unpack(locks))

for i = 1, #locks do
  if held[i] == ARGV[i] and (quiet or redis.call('EXISTS', queues[i]) == 0) then
    remember(locks[i], string.match(ARGV[i], '^%d+'))
    out[i + 1] = '+'
  else
    out[i + 1] = '-'
  end
end
return table.concat(out)
