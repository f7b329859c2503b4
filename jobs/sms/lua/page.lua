-- page: reads messages of one set behind a place in it.
--
-- KEYS  1 body    2 status    3 the set
-- ARGV  1 how many at most    2 1: from the last to the first    3 score and 4 id of the
--       message before the page; '' and '': from the beginning
--
-- Returns {score, id, body, status, …}, body and status '' if missing. The message before
-- the page need not be in the set any more.
local n, reverse, last = tonumber(ARGV[1]), ARGV[2] == '1', ARGV[4]

-- later compares bytes, as the set does.
local function later(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- low becomes how many of the set are before the place, or in it when reading forward.
local low = reverse and redis.call('ZCARD', KEYS[3]) or 0
if last ~= '' then
  low = redis.call('ZCOUNT', KEYS[3], '-inf', '(' .. ARGV[3])
  local high = low + redis.call('ZCOUNT', KEYS[3], ARGV[3], ARGV[3])
  while low < high do
    local middle = math.floor((low + high) / 2)
    local id = redis.call('ZRANGE', KEYS[3], middle, middle)[1]
    if later(id, last) or (reverse and id == last) then high = middle else low = middle + 1 end
  end
end

local first, final = low, low + n - 1
if reverse then first, final = math.max(0, low - n), low - 1 end
local answer = {}
if final < first then return answer end
local found = redis.call('ZRANGE', KEYS[3], first, final, 'WITHSCORES')
local begin, stop, step = 1, #found - 1, 2
if reverse then begin, stop, step = #found - 1, 1, -2 end
for i = begin, stop, step do
  answer[#answer + 1] = found[i + 1]
  answer[#answer + 1] = found[i]
  answer[#answer + 1] = redis.call('HGET', KEYS[1], found[i]) or ''
  answer[#answer + 1] = redis.call('HGET', KEYS[2], found[i]) or ''
end
return answer
