-- state.lua comes before every script.
--
-- KEYS[1]  what this server knows of a lock: the string
--          last|fence|until|attempt|owner. last is the highest fence that was
--          ever given or written here; it outlives the lease. fence and until
--          (ms) are the lease's; until is 0 once it was released. attempt
--          numbers the owner's requests, the latest one stands here.
-- KEYS[2]  a key that never exists: a write to it proves that this is a master,
--          since a replica that lags behind must not answer
-- ARGV     owner, attempt, how long what is known outlives the lease in ms, ...
-- returns  {1, fence, ms left} for yes, else {code, text, ms left}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me, attempt, memory = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local last, fence, till, latest, owner = 0, 0, 0, 0, ''

local text = redis.call('GET', KEYS[1])
if text then
  last, fence, till, latest, owner = string.match(text, '^(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not last then return redis.error_reply('ERR the lock is of another format') end
  last, fence, till, latest = tonumber(last), tonumber(fence), tonumber(till), tonumber(latest)
end
local mine, alive = owner == me, till > now

local function int(n) return string.format('%.0f', n) end

-- keep writes a lease of mine. A newer request of mine stays the latest.
local function keep(of, ttl)
  if mine then attempt = math.max(attempt, latest) end
  local value = int(math.max(last, of)) .. '|' .. int(of) .. '|' .. int(now + ttl) .. '|' .. int(attempt) .. '|' .. me
  redis.call('SET', KEYS[1], value, 'PX', int(ttl + memory))
  return {1, int(of), ttl}
end

local function refuse(code, about, left)
  redis.call('PEXPIRE', KEYS[2], 1)
  return {code, about, left}
end

