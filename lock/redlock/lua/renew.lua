-- renew moves the deadline of a lease to now + TTL.
--
-- returns  {1, fence, ms left}, or {0, "", 0} if no lease with this owner and fence is
--          alive here

if not (mine and alive and fence == asked) then
  write()
  return {0, '', 0}
end
local life = ARGV[2]
if kept ~= memory then life = string.format('%.0f', life - memory + kept) end
redis.call('PEXPIRE', KEYS[1], life)
return {1, fence, ARGV[2] - memory}
