-- release takes the vote of this server back. A request of the owner that comes
-- later although it was sent earlier is known by its attempt.
--
-- ARGV     ... fence, or 0: whatever the owner was given
-- returns  {1, "0", 0} if the vote is free now; {0, "", 0} if another owner has
--          it; {2, "", 0} if it is the owner's under another fence

local named = tonumber(ARGV[4])
if alive and not mine then return refuse(0, '', 0) end
if alive and latest > attempt then return refuse(1, '0', 0) end
if alive and named ~= 0 and fence ~= named then return refuse(2, '', 0) end
if mine then attempt = math.max(attempt, latest) end
redis.call('PEXPIRE', KEYS[2], 1) -- a server at maxmemory accepts what follows
redis.call('SET', KEYS[1], int(last) .. '|0|0|' .. int(attempt) .. '|' .. me, 'PX', int(memory))
return {1, '0', 0}
