-- pause stops the grants of a series. A change that was made already is not
-- made twice.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- KEYS[2]  the state
-- ARGV[1]  the number of the change
-- returns  lines: the store's µs, 0||mark|fence|last|pause and its runs

-- include: state.lua

local function pause()
  local s, change = read(KEYS[2]), tonumber(ARGV[1])
  if s.mark ~= '0' and change > math.abs(s.pause) then
    s.pause = change
    call('PEXPIRE', s.key, LIFE)
    call('HSET', s.key, 'p', ARGV[1])
  end
  return series(s)
end

return answers(1, pause)
