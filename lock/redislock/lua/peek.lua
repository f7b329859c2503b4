-- peek answers claims of numbers that are decided, as claim would answer an owner
-- that it has not seen. It writes nothing.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- then for each claim
--   KEYS   the state
-- ARGV     the number of each claim, or one for all
-- returns  lines: the store's ms, then for each claim its answer, or nothing if
--          the number is not decided

local function peek(i)
  local s = read(KEYS[i + 1])
  local number, mark = ARGV[i] or ARGV[1], tonumber(s.mark)
  if tonumber(number) > mark or mark > ms + TOLERANCE then return '' end
  return passed(s, number, stored(s, number))
end

return table.concat(answers(#KEYS - 1, peek), '\n')
