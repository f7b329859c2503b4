-- inspect tells who has a plain lock. It changes nothing: the write to a key
-- that never exists proves that this is a master.
--
-- KEYS[1]  a key that never exists
-- KEYS[2]  the lock
-- KEYS[3]  its queue
-- KEYS[4]  its holders
-- returns  {places in the queue, the lock or "", ms left, the store's ms, then if
--          owners share it each with what is stored of it}

redis.call('PEXPIRE', KEYS[1], 1)
local text = redis.call('GET', KEYS[2]) or ''
local time = redis.call('TIME')
local out = {
  redis.call('LLEN', KEYS[3]), text, redis.call('PTTL', KEYS[2]),
  string.format('%.0f', math.floor((time[1] * 1000000 + time[2]) / 1000)),
}
if string.sub(text, 1, 1) == '+' then
  for _, part in ipairs(redis.call('HGETALL', KEYS[4])) do
    out[#out + 1] = part
  end
end
return out
