-- wait requests a plain lock, and takes a place in its queue if it is refused. An owner
-- that has a place keeps it.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue; it expires when no waiter has sent a request for as long as they set
-- ARGV     owner, TTL in ms, the highest fence that the caller has seen, 0, inbox, how
--          many places there may be, ms until the queue expires
-- returns  one of the answers of acquire for a lock, but never the bare fence

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- include: queue.lua

local answer = ask(KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3]), false)
if answer[1] == 0 then
  local place = ARGV[5] .. '|' .. ARGV[1]
  if not redis.call('LPOS', KEYS[2], place) and redis.call('LLEN', KEYS[2]) < tonumber(ARGV[6]) then
    redis.call('RPUSH', KEYS[2], place)
  end
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[7]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[7])
  end
end
return answer
