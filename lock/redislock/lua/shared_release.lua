-- shared_release frees locks that owners may share, each for itself, and gives up a
-- place in a queue. The freed places are reserved for the owners that wait.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- then for each lock
--   KEYS   the lock, its queue, its holders, their ends, their limits
-- ARGV[1]  a place in the queues to give up, or ''
-- then for each lock
--   ARGV   owner, fence, or 0 for any fence that it was granted
-- returns  for each lock 1 if the owner no longer has it, 0 if others have it, 3
--          if it is free, and not known to have been freed by this owner

-- include: shared.lua

call('PEXPIRE', KEYS[1], 1)
local out = {}
for i = 1, (#KEYS - 1) / 5 do
  local s, me, known = at(5 * i - 3), ARGV[2 * i], ARGV[2 * i + 1]
  look(s)
  if ARGV[1] ~= '' then call('LREM', s.queue, 1, ARGV[1]) end
  local mine = holder(s, me)
  if mine and (known == '0' or not mine.kept and known == mine.fence) then
    drop(s, me)
    out[i] = 1
  elseif s.count > 0 then
    out[i] = 0
  else
    out[i] = (known == '0' or known == s.freed) and 1 or 3
  end
  serve(s)
  settle(s)
end
return out
