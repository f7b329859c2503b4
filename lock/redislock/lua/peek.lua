-- peek tells which numbers are decided, and answers as claim would answer an
-- owner that it has not seen. It writes nothing.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- then for each number
--   KEYS   the state
-- ARGV[1]  1 if every answer is to be whole, else 0
-- then the number of each, or one for all
-- returns  lines: the store's ms; a letter for each number; then the answer of
--          each with the letter =
-- letters  - claim it: it is not decided, or who knows; = decided, its answer
--          follows; d, l it is the mark and its run is done, or lost

local whole = ARGV[1] == '1'
local one = not ARGV[3] and ARGV[2]
local letters, lines = {}, {}

local function peek(i, key, number)
  local h = redis.pcall('HMGET', key, 'm', 'r')
  local mark, text = h[1], h[2] or ''
  if not mark or tonumber(mark) > ms + TOLERANCE then return '-' end
  if mark ~= number and tonumber(mark) < tonumber(number) then return '-' end
  local _, head = find(text, ';' .. number .. '|', 1, true)
  local state = head and sub(text, head + 1, head + 1)
  if (state == 'd' or state == 'l') and mark == number and not whole then return state end
  local s = read(key)
  lines[#lines + 1] = passed(s, number, stored(s, number))
  return '='
end

for i = 1, #KEYS - 1 do letters[i] = peek(i, KEYS[i + 1], one or ARGV[i + 1]) end
prove()
table.insert(lines, 1, table.concat(letters))
table.insert(lines, 1, now)
return table.concat(lines, '\n')
