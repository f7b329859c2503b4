-- The beginning of every script on series: names of Lua's functions, and the store's clock, read once.
--
-- Numbers stay in their stored text and become numbers only to be compared. A double
-- holds them exactly, but Lua's default text of it loses digits. Converting a text takes
-- as long as a small command, and many series have the same texts: each is converted
-- once.

local call, find, match, sub = redis.call, string.find, string.match, string.sub
local floor, max = math.floor, math.max
local numbers, reads = {}, tonumber
local function tonumber(text)
  if not text then return nil end
  local n = numbers[text]
  if not n then
    n = reads(text)
    numbers[text] = n
  end
  return n
end

local LIFE = 7776000000 -- ms for which an unused key is kept: 90 days
local LONGEST = 172800000 -- ms by which a deadline may lie ahead: the longest TTL, and as much again for a clock put back

local clock = call('TIME')
local us = clock[1] * 1000000 + clock[2]
local ms = floor(us / 1000)

local function int(x) return string.format('%.0f', x) end
local now, instant = int(ms), int(us)
