-- read_series reads series. It changes no state; keys that are about to expire are kept
-- while a node reads them.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the set of all series of the partition
-- KEYS[3]  the bytes of all journals of the partition
-- then for each series
--   KEYS   the state, the journal, the revisions, the sheet
-- returns  lines: the store's µs, for each series 0||mark|fence|last|pause, its
--          stored runs and its sheet

-- include: state.lua

function makesheets()
-- include: sheet.lua
  return { listed = listed }
end

local SOON = LIFE * 2 / 3

local function one(i)
  local s = read(KEYS[4 * i], nil, KEYS[4 * i + 3])
  local left = call('PTTL', s.key)
  if left >= 0 and left < SOON then
    for k = 4 * i, 4 * i + 3 do redis.pcall('PEXPIRE', KEYS[k], LIFE) end -- a user that only reads may not
    for k = 2, 3 do redis.pcall('PEXPIRE', KEYS[k], LIFE) end
  end
  return series(s)
end

return answers((#KEYS - 3) / 4, one)
