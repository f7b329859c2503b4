-- peek returns which numbers are decided, with the answers that claim would give to an
-- owner that it has not seen. It writes nothing.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- then for each number
--   KEYS   the state
-- ARGV[1]  1 if every answer must be whole, else 0
-- then the number of each, or one for all
-- returns  lines: the store's µs; a letter for each number; then a line for each
--          letter that has one
-- letters  - claim it: it is not decided, or that is unknown; d, l it is the mark and
--          its run is done, or lost; o, b, u, w it is the mark and its run is in
--          that state, and the line is attempt|fence|until|owner; = the line is
--          the answer

-- include: state.lua
-- include: answer.lua

function makesheets()
-- include: sheet.lua
  return { leased = leased }
end

local whole = ARGV[1] == '1'
local one = not ARGV[3] and ARGV[2]
local letters, lines = {}, {}

-- part returns the letter of a run, and adds its line unless the run is settled.
local function part(text, head)
  local state, owner, fence, attempt, till = match(text, '^(%a)|([^|;]*)|(%d+)|(%d+)|%d+|(%d+)|', head + 1)
  if state ~= 'd' and state ~= 'l' then
    if find(text, '^[^;]*%*', head + 1) then till = '0' end -- sharded: a takeover does not end with it
    lines[#lines + 1] = attempt .. '|' .. fence .. '|' .. till .. '|' .. owner
  end
  return state
end

local function peek(key, number)
  local h = redis.pcall('HMGET', key, 'm', 'r')
  local mark, text = h[1], h[2] or ''
  if not mark or tonumber(mark) > ms + TOLERANCE then return '-' end
  local _, head = find(text, ';' .. number .. '|', 1, true)
  if mark ~= number and not head and tonumber(mark) < tonumber(number) then return '-' end -- only manual runs are above the mark
  if head and mark == number and not whole then return part(text, head) end
  local s = read(key)
  lines[#lines + 1] = passed(s, number, stored(s, number))
  return '='
end

for i = 1, #KEYS - 1 do letters[i] = peek(KEYS[i + 1], one or ARGV[i + 1]) end
prove()
table.insert(lines, 1, table.concat(letters))
table.insert(lines, 1, instant)
return table.concat(lines, '\n')
