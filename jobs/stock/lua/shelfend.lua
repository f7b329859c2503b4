end
local answer = act()
local changes = has[2] or '0'
if changed and has[1] then changes = string.format('%.0f', redis.call('HINCRBY', shelf, 'changes', 1)) end
if changed and epoch ~= '' then
  own = string.format('%.0f', redis.call('INCRBY', acknowledged, 1))
  if own == '1' then redis.call('PEXPIRE', acknowledged, 3600000) end
end
answer[#answer + 1] = changes
answer[#answer + 1] = own
return answer
