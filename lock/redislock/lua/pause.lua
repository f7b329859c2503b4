-- pause stops the grants of a series, or ends that. A change that was made already is
-- not made twice.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- KEYS[2]  the bytes of all journals of the shard
-- KEYS[3]  the state
-- KEYS[4]  the journal
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the shard may have
-- ARGV[3]  the number of the change
-- ARGV[4]  1 to resume, else 0
-- returns  lines: the store's µs, 0||mark|fence|last|pause and its runs

-- include: state.lua
-- include: journal.lua

local change = tonumber(ARGV[3])

local function pause()
  local s = read(KEYS[3])
  if s.mark ~= '0' and change > math.abs(s.pause) then
    s.pause = change
    call('PEXPIRE', s.key, LIFE)
    call('HSET', s.key, 'p', ARGV[3])
  end
  return series(s)
end

-- resume settles the runs that are over and covers (mark, now] as paused. The mark never
-- goes down.
local function resume()
  local s = read(KEYS[3], KEYS[4])
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

if ARGV[4] == '1' then return verdicts(1, resume) end
return answers(1, pause)
