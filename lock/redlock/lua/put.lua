-- put writes the fence that was chosen for an owner, and its lease from now on.
-- A majority has voted for the owner: a key that is free on this server becomes the
-- owner's too, unless the server has seen a later grant or the owner has released.
--
-- returns  {1, fence, ms left}, or {0, "", 0}

write()
local released = by == me and (undone - attempt >= 0 or back - asked >= 0)
if alive and not mine or released or not mine and last - asked > 0 then
  return {0, '', 0}
end
if last - asked > 0 then
  redis.call('SET', KEYS[2], last .. '|' .. undone .. '|' .. memory .. '|' .. by, 'PX', ARGV[2])
end
if since > 0 then attempt = latest end
redis.call('SET', KEYS[1], asked .. '|' .. attempt .. '|' .. memory .. '|' .. me, 'PX', ARGV[2])
return {1, asked, ARGV[2] - memory}
