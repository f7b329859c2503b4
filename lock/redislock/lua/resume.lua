-- resume ends a pause: runs that are over are settled and (mark, now] is covered
-- as paused. The mark never goes down.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- KEYS[2]  the bytes of all journals of the shard
-- KEYS[3]  the state
-- KEYS[4]  the journal
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the shard may have
-- ARGV[3]  the number of the change
-- returns  lines: the store's µs, 0||mark|fence|last|pause and its runs

-- include: state.lua
-- include: journal.lua

local function resume()
  local s, change = read(KEYS[3], KEYS[4]), tonumber(ARGV[3])
  if s.pause <= 0 or change <= s.pause then return series(s) end
  call('PEXPIRE', s.key, LIFE)
  for _, r in ipairs(runs(s)) do
    if over(s, r) then settle(s, r) end
  end
  prune(s)
  if ms > tonumber(s.mark) then
    record(s.journal, 'p', s.mark, now, 'p', '', '', '', '')
    s.mark, s.by = now, ''
  end
  s.pause = -change
  call('HSET', s.key, 'm', s.mark, 'b', s.by, 'p', int(s.pause), 'r', packed(s))
  return series(s)
end

return verdicts(1, resume)
