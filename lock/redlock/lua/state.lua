-- state.lua precedes every operation that has no fast path.
--
-- KEYS[1]  a lease as this server knows it: the string
--          fence|attempt|memory|owner. It outlives the lease by the memory, in
--          ms: when only the memory is left of the string's life, the lease has
--          ended. attempt numbers the owner's requests; this is the latest one.
-- KEYS[2]  the last lease that was given back here, or the request that was
--          undone, in the same form. Its fence is the highest that this server
--          knows of, apart from the fence in KEYS[1].
-- local    asked, attempt, memory, me: from the request; a fence has 16 digits
--
-- Numbers stay the text that they are stored as until a calculation needs them:
-- formatting one takes as long as a small command.

local form = '^(%d+)|(%d+)|(%d+)|(.*)$'
local both = redis.call('MGET', KEYS[1], KEYS[2])
local fence, latest, kept, owner, left = '0', '0', '0', '', 0
local back, undone, by = '0000000000000000', '0', ''
if both[1] then
  fence, latest, kept, owner = string.match(both[1], form)
  left = redis.call('PTTL', KEYS[1]) - (kept or 0)
end
if both[2] then
  local gone
  back, undone, gone, by = string.match(both[2], form)
end
if not fence or not back then return redis.error_reply('ERR the lock is of another format') end

local alive, mine = left > 0, owner == me
local last = back
if fence - back > 0 then last = fence end

-- since is how far the request is behind the latest request of this owner; negative if no request
-- as late was here.
local since = -1
if mine then since = latest - attempt end
if by == me and undone - attempt > since then since = undone - attempt end

-- write proves that this server is a master, since a replica that lags behind must not answer.
-- After it, a server at maxmemory accepts further writes of the script.
local function write()
  if both[1] then redis.call('RENAME', KEYS[1], KEYS[1]) else redis.call('PEXPIRE', KEYS[1], 1) end
end
