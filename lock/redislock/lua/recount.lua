-- recount estimates the bytes of journals, and deletes from the set the series that have expired.
-- The counter does not notice keys that expire.
--
-- KEYS[1]  the set of all series of the partition
-- KEYS[2]  the series of the partition by their last change
-- then for each series
--   KEYS   the state, the journal
--   ARGV   name
-- returns  the bytes

local call = redis.call
local OVERHEAD = 4
local bytes = 0

for i = 1, #ARGV do
  local j = KEYS[2 * i + 2]
  local n = call('LLEN', j)
  if n > 0 then
    bytes = bytes + n * ((#call('LINDEX', j, 0) + #call('LINDEX', j, -1)) / 2 + OVERHEAD)
  elseif call('EXISTS', KEYS[2 * i + 1]) == 0 then
    call('SREM', KEYS[1], ARGV[i])
    redis.pcall('ZREM', KEYS[2], ARGV[i]) -- a key of another type stops no series
  end
end
return math.ceil(bytes)
