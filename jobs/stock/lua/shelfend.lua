end
local answer = act()
if changed and has[1] then
  answer[#answer + 1] = string.format('%.0f', redis.call('HINCRBY', shelf, 'changes', 1))
else
  answer[#answer + 1] = has[2] or '0'
end
return answer
