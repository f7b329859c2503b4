-- renew_runs moves the deadlines of runs that are alive to now + TTL.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- then for each run
--   KEYS   the state, and of a shard the sheet
--   ARGV   number, or of a shard number*index*shards · owner · fence · TTL in ms
-- returns  lines: the store's µs, for each run "1|ms left|end", or "0": lost;
--          the end is the one of the run: see state.lua
--
-- The first write is an expiry: a store at maxmemory accepts the later writes.

-- include: state.lua

function makesheets()
-- include: sheet.lua
  return { shard = shard, packed = packedshard }
end

local keys = 1 -- how many were used

local divided -- the state of the series whose shards are renewed: many shards in a row have one series

-- renewshard writes one field of the sheet alone.
local function renewshard(key, sheetkey, at)
  local s = divided
  if not s or s.key ~= key then
    s = read(key, nil, sheetkey)
    call('PEXPIRE', key, LIFE)
    call('PEXPIRE', sheetkey, LIFE)
    divided = s
  end
  local number, index, shards = match(ARGV[at + 1], '^(%d+)%*(%d+)%*(%d+)$')
  local r = run(s, number)
  local h = r and r.shards == shards and sheets().shard(s, r, index, ARGV[at + 2], ARGV[at + 3])
  if not h or not alive(h) then return '0' end
  local till = ms + tonumber(ARGV[at + 4])
  if till < tonumber(h.till) then call('HSET', s.sheetkey, 'w', 0) end
  h.till = int(till)
  call('HSET', s.sheetkey, index, sheets().packed(h))
  return '1|' .. ARGV[at + 4] .. '|' .. r.must
end

local function renew(i)
  local at, key = 4 * i - 4, KEYS[keys + 1]
  if find(ARGV[at + 1], '*', 1, true) then
    keys = keys + 2
    return renewshard(key, KEYS[keys], at)
  end
  keys = keys + 1
  local s = read(key)
  local r = run(s, ARGV[at + 1])
  if not r or r.owner ~= ARGV[at + 2] or r.fence ~= ARGV[at + 3] or r.shards ~= '' or not alive(r) then return '0' end
  r.till = int(ms + tonumber(ARGV[at + 4]))
  call('PEXPIRE', s.key, LIFE)
  call('HSET', s.key, 'r', packed(s))
  return '1|' .. ARGV[at + 4] .. '|' .. r.must
end

return answers(#ARGV / 4, renew)
