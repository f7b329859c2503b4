-- inspect returns the holders of a plain lock. It changes nothing: the write to a key
-- that never exists proves that this is a master.
--
-- KEYS[1]  a key that never exists
-- KEYS[2]  the lock
-- KEYS[3]  its queue
-- KEYS[4]  its holders
-- KEYS[5]  their ends
-- ARGV     how many holders are read: those whose time is over first
-- returns  {places in the queue, the lock or "", ms left, the store's ms, then, if owners
--          share it, each owner and its stored text}

redis.call('PEXPIRE', KEYS[1], 1)
local text = redis.call('GET', KEYS[2]) or ''
local time = redis.call('TIME')
local out = {
  redis.call('LLEN', KEYS[3]), text, redis.call('PTTL', KEYS[2]),
  string.format('%.0f', math.floor((time[1] * 1000000 + time[2]) / 1000)),
}
if string.sub(text, 1, 1) == '+' then
  local owners = redis.call('ZRANGE', KEYS[5], 0, ARGV[1] - 1)
  for i = 1, #owners, 500 do
    local texts = redis.call('HMGET', KEYS[4], unpack(owners, i, math.min(i + 499, #owners)))
    for k = 1, #texts do
      out[#out + 1] = owners[i + k - 1]
      out[#out + 1] = texts[k] or ''
    end
  end
end
return out
