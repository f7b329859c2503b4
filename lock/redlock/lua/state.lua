-- state.lua comes before all that has no quick way.
--
-- KEYS[1]  a lease as this server knows it: the string
--          fence|attempt|memory|owner. It outlives the lease by the memory, in
--          ms: a lease is over when that is all that is left of the string's
--          life. attempt numbers the owner's requests; the latest one stands here.
-- KEYS[2]  the last lease that was given back here, or the request that was
--          undone, in the same form. Its fence is the highest that this server
--          knows of, but for that of KEYS[1].
-- local    asked, attempt, memory, me: of the request; a fence has 16 digits
--
-- Numbers stay the text that they are stored as until they are counted with:
-- to write one out takes as long as a small command.

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

-- since is how many requests mine is behind the latest one of this owner, below 0
-- if none as late was here.
local since = -1
if mine then since = latest - attempt end
if by == me and undone - attempt > since then since = undone - attempt end

-- write proves that this is a master, since a replica that lags behind must not
-- answer; and a server at maxmemory accepts what follows it.
local function write()
  if both[1] then redis.call('RENAME', KEYS[1], KEYS[1]) else redis.call('PEXPIRE', KEYS[1], 1) end
end
