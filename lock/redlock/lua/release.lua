-- release takes the vote of this server back. A request of the owner that comes
-- later although it was sent earlier is known by its attempt.
--
-- ARGV     ... fence, or 0: whatever the owner was given
-- returns  {1, "0", 0} if the vote is free now; {0, "", 0} if another owner has
--          it; {2, "", 0} if it is the owner's under another fence

local named = ARGV[4]
local other = named ~= '0' and fence ~= named
if not mine or since > 0 or other then -- the clock is read only where it matters
  local time = redis.call('TIME')
  if till - time[1] * 1000 > math.floor(time[2] / 1000) then
    redis.call('PEXPIRE', KEYS[2], 1)
    if not mine then return {0, '', 0} end
    if since > 0 then return {1, '0', 0} end
    return {2, '', 0}
  end
end
local value = last .. '|0|0|' .. attempt .. '|' .. me
if redis.pcall('SET', KEYS[1], value, 'PX', memory).err then
  redis.call('PEXPIRE', KEYS[2], 1) -- a server at maxmemory accepts what follows
  redis.call('SET', KEYS[1], value, 'PX', memory)
end
return {1, '0', 0}
