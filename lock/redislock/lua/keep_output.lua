-- keep_output keeps the end of the output of a run. The outputs of the lowest numbers make room.
--
-- KEYS[1]  the outputs of the series: a hash of fence|text by number, with a minus before the fence if it is of a shard that failed
-- ARGV     number, fence, text, how many outputs there may be, how many bytes of text, ms for which they are kept,
--          the least and the greatest stored fence whose output it replaces
-- returns  1

local call = redis.call
local key, number = KEYS[1], ARGV[1]
local MOST, BYTES = tonumber(ARGV[4]), tonumber(ARGV[5])

local old = call('HMGET', key, number)[1]
local fence = old and tonumber(string.match(old, '^(-?%d+)|') or '0') or 0
if fence < tonumber(ARGV[7]) or fence > tonumber(ARGV[8]) then return 1 end
call('HSET', key, number, ARGV[2] .. '|' .. ARGV[3])

local sizes, numbers = {}, {}
local all = call('HGETALL', key)
for i = 1, #all, 2 do
  local n, head = tonumber(all[i]), string.match(all[i + 1], '^-?%d+|')
  if n and head then
    sizes[all[i]] = #all[i + 1] - #head
    numbers[#numbers + 1] = all[i]
  else -- no output
    call('HDEL', key, all[i])
  end
end
table.sort(numbers, function(a, b) return tonumber(a) > tonumber(b) end)
local bytes, kept = 0, 0
for _, name in ipairs(numbers) do
  bytes = bytes + sizes[name]
  if kept < MOST and bytes <= BYTES then
    kept = kept + 1
  else
    kept = MOST -- no lower number is kept either
    call('HDEL', key, name)
  end
end
call('PEXPIRE', key, ARGV[6])
return 1
