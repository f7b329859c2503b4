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
--
-- Numbers stay the text that they are stored as until they are counted with:
-- to write one out takes as long as a small command.

local me, attempt, memory = ARGV[1], ARGV[2], ARGV[3]
local last, fence, till, latest, owner = '0', '0', '0', '0', ''

local text = redis.call('GET', KEYS[1])
if text then
  last, fence, till, latest, owner = string.match(text, '^(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not last then return redis.error_reply('ERR the lock is of another format') end
end
local mine = owner == me

-- since is how many requests mine is behind the latest one of this owner, below 0
-- if none as late was here. A newer one stays the latest.
local since = mine and latest - attempt or -1
if since > 0 then attempt = latest end

