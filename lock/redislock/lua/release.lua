-- release frees a plain lock, or keeps it for the first in its queue. An owner
-- that never saw its answer does not know its fence, and says 0.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue
-- ARGV     fence|owner
-- returns  1 if the lock is not the owner's any more, 0 if another owner has it,
--          2 if the lock is for shared_free, 3 if it is free, and not known to have
--          been freed by this owner

local text = redis.call('GET', KEYS[1])
local known, me = string.match(ARGV[1], '^(%d+)|(.*)$')
local free = not text
if text then
  local fence, kept, owner = read(text)
  if not fence then
    return 2
  elseif not owner then
    free = true
  elseif owner == me and (known == '0' or not kept and known == fence) then
    local passed = pass(KEYS[1], KEYS[2], fence, '')
    if passed == nil then
      return 2
    elseif not passed then
      remember(KEYS[1], fence)
    end
    return 1
  end
end
redis.call('LREM', KEYS[2], 0, '') -- a write that changes nothing proves that this is a master
if not free then return 0 end
return (known == '0' or known == text) and 1 or 3
