-- release takes the vote of this server back. A request that the owner sent earlier
-- and that arrives later is recognised by its attempt, and by its fence, which is no
-- higher than the one that is stored here.
--
-- returns  1 if the vote is free now; 0 if another owner has it; 2 if the owner has it
--          with another fence; 3 if it was free before, and is not known to have been
--          given back by this owner

if alive then
  if not mine then
    write()
    return 0
  end
  if since > 0 then
    write()
    return 1
  end
  if asked ~= '0' and fence ~= asked then
    write()
    return 2
  end
end
local freed = alive or asked == '0' or by == me and back - asked >= 0
if ARGV[5] - last > 0 then last = ARGV[5] end
if since > 0 then attempt = string.format('%.0f', attempt + since) end
local value = last .. '|' .. attempt .. '|' .. memory .. '|' .. me
if redis.pcall('SET', KEYS[2], value, 'PX', memory).err then
  write()
  redis.call('SET', KEYS[2], value, 'PX', memory)
end
redis.call('DEL', KEYS[1])
return freed and 1 or 3
