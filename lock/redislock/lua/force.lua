-- force takes a lock from all its holders with one of some fences, and records that.
-- A repetition with the same ID changes nothing.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS     the lock, its queue, its holders, their ends, their limits
-- KEYS[7]  how leases were taken: see shared.lua
-- KEYS[8]  the records, a list, the latest last
-- ARGV     ID, by, reason, how many records are kept, ms until they expire, how many
--          owners a record names, the first and the last of the fences, or 0 and 0 for all
-- returns  the record: ID|the store's ms|how many held it|by|reason, then |owner|fence
--          of each named owner; 0 if no owner held it; the number of holders if they are
--          more than one step can take it from: nothing was done
--
-- An expiry is the first write: a store at maxmemory accepts the later writes.

-- include: shared.lua

call('PEXPIRE', KEYS[1], 1)
local s, taken, records = at(2), KEYS[7], KEYS[8]
for _, made in ipairs(call('LRANGE', records, -ARGV[4], -1)) do
  if match(made, '^([^|]*)|') == ARGV[1] then return made end
end

local from, to = tonumber(ARGV[7]), tonumber(ARGV[8])
local function meant(h) return to == 0 or from <= tonumber(h.fence) and tonumber(h.fence) <= to end

look(s)
local held = {}
if s.alone and not s.alone.kept and meant(s.alone) then
  held[1] = s.alone
elseif s.shared then
  if s.count > MANY then
    settle(s)
    return s.count
  end
  for _, e in ipairs(members(s)) do
    if not e.kept and meant(e) then held[#held + 1] = e end
  end
  table.sort(held, function(a, b) return tonumber(a.fence) < tonumber(b.fence) end)
end
if #held == 0 then
  serve(s)
  settle(s)
  return 0
end

local made = {ARGV[1], int(ms), int(#held), ARGV[2], ARGV[3]}
for i, h in ipairs(held) do
  if i <= tonumber(ARGV[6]) then
    made[#made + 1] = h.owner
    made[#made + 1] = h.fence
  end
  take(s, taken, h.owner, h)
end
serve(s)
settle(s)

made = table.concat(made, '|')
call('RPUSH', records, made)
while call('LLEN', records) > tonumber(ARGV[4]) do call('LPOP', records) end
call('PEXPIRE', records, ARGV[5])
return made
