-- renew_runs moves the deadlines of runs that are alive to now + TTL.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- then for each run
--   KEYS   the state
--   ARGV   number · owner · fence · TTL in ms
-- returns  lines: the store's µs, for each run "1|ms left|end", or "0": lost;
--          the end is the one of the run: see state.lua
--
-- The first write is an expiry: a store at maxmemory accepts the later writes.

-- include: state.lua

local function renew(i)
  local at = 4 * i - 4
  local s = read(KEYS[i + 1])
  local r = run(s, ARGV[at + 1])
  if not r or r.owner ~= ARGV[at + 2] or r.fence ~= ARGV[at + 3] or not alive(r) then return '0' end
  r.till = int(ms + tonumber(ARGV[at + 4]))
  call('PEXPIRE', s.key, LIFE)
  call('HSET', s.key, 'r', packed(s))
  return '1|' .. ARGV[at + 4] .. '|' .. r.must
end

return answers(#KEYS - 1, renew)
