-- acquire votes for an owner if this server has not voted for another one.
--
-- returns  {1, fence, ms left}; {0, "fence|owner", ms left} if this server has voted
--          for another owner; {2, "", 0} if this attempt was undone before it came

if alive and not mine then
  write()
  return {0, fence .. '|' .. owner, left}
end
if since >= 0 and not alive then
  write()
  return {2, '', 0}
end
local life = ARGV[2]
if alive then
  if since > 0 then attempt = latest end
  life = string.format('%.0f', left + kept)
  memory = kept
else
  fence = asked
  if last - asked >= 0 then fence = string.format('%016.0f', last + 1) end
end
redis.call('SET', KEYS[1], fence .. '|' .. attempt .. '|' .. memory .. '|' .. me, 'PX', life)
return {1, fence, life - memory}
