-- release frees plain locks, each for itself, or reserves a lock for the first in its queue.
-- An owner that never got its answer does not know its fence, and sends 0.
--
-- KEYS     the locks, then the queue of each
-- ARGV     for each lock fence|owner
-- returns  for each lock 1 if the owner no longer has it, 0 if another owner has it,
--          2 if shared_release must handle it, 3 if it is free, and not known to have been
--          freed by this owner; "!error" if there is no answer
--
-- A lock that no owner waits for takes one SET. The other locks need the functions of
-- queue.lua, which Redis creates anew in each run of a script.

-- till returns when the last fence of a lock is forgotten, as remember computes it.
local function till(fence) return (tonumber(string.sub(fence, 1, -4)) or 0) + 10000 end

if #KEYS == 2 and redis.pcall('GET', KEYS[1]) == ARGV[1] and redis.call('EXISTS', KEYS[2]) == 0 then -- most requests: one lock
  local fence = string.sub(ARGV[1], 1, string.find(ARGV[1], '|', 1, true) - 1)
  if not redis.pcall('SET', KEYS[1], fence, 'PXAT', till(fence)).err then return {1} end
end

local n, replies, rest = #KEYS / 2, {}, nil
local waited = redis.call('EXISTS', unpack(KEYS, n + 1)) > 0
local texts = redis.call('MGET', unpack(KEYS, 1, n))

for i = 1, n do
  local freed = false
  if texts[i] == ARGV[i] and not (waited and redis.call('EXISTS', KEYS[n + i]) == 1) then
    local fence = string.sub(ARGV[i], 1, string.find(ARGV[i], '|', 1, true) - 1)
    freed = not redis.pcall('SET', KEYS[i], fence, 'PXAT', till(fence)).err
  end
  if freed then
    replies[i] = 1
  else
    rest = rest or {}
    rest[#rest + 1] = i
  end
end
if not rest then return replies end

-- include: queue.lua

local function release(lock, queue, lease)
  local text = redis.call('GET', lock)
  local known, me = string.match(lease, '^(%d+)|(.*)$')
  local free = not text
  if text then
    local fence, kept, owner = read(text)
    if not fence then
      return 2
    elseif not owner then
      free = true
    elseif owner == me and (known == '0' or not kept and known == fence) then
      local passed = pass(lock, queue, fence, '')
      if passed == nil then
        return 2
      elseif not passed then
        remember(lock, fence)
      end
      return 1
    end
  end
  redis.call('LREM', queue, 0, '') -- a write that changes nothing proves that this is a master
  if not free then return 0 end
  return (known == '0' or known == text) and 1 or 3
end

for _, i in ipairs(rest) do
  replies[i] = attempt(release, KEYS[i], KEYS[n + i], ARGV[i])
end
return replies
