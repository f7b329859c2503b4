-- The part of the state that is about the sheet of a sharded run: a hash with a field for each shard
-- that is not free, by its index, as
--   state|owner|fence|attempt|granted|until|ended|outcome|ok|error
-- with the states of runs; the error is escaped twice, since the text of a sheet is escaped once more, and older nodes wrote none. f is
-- the fence of the run, n how many shards are settled, e how many of them have an error, p the parameters, each
-- with a ; behind it, and a the mode: 1 if the number fails only if no shard was ok, plus 2 in a broadcast, whose
-- shards belong to the nodes that the parameters name. A series has at
-- most one sheet.

local SHARD = '^(%a)|([^|]*)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|([01])|?([^|]*)$'
local GONE = 'l||0|0|0|0|0|lost|0'
local UNTIL = '^o|[^|]*|%d+|%d+|%d+|(%d+)'

-- sharded reports whether a run has a sheet with shards that are not settled.
local function sharded(r) return r.shards ~= '' and r.state == 'o' end

-- unsettled returns the run that is sharded and not settled.
local function unsettled(s)
  for _, r in ipairs(runs(s)) do
    if sharded(r) then return r end
  end
end

-- shardof reads a stored shard. A free one is stored as nothing.
local function shardof(stored)
  local h = { state = '', owner = '', fence = '0', attempt = '0', granted = '0', till = '0', ended = '0', outcome = '', ok = '0', err = '' }
  if stored == '' then return h end
  h.state, h.owner, h.fence, h.attempt, h.granted, h.till, h.ended, h.outcome, h.ok, h.err = match(stored, SHARD)
  if not h.state then error('a shard in an unknown format') end
  return h
end

local function packedshard(h)
  return h.state .. '|' .. h.owner .. '|' .. h.fence .. '|' .. h.attempt .. '|' .. h.granted .. '|' .. h.till
    .. '|' .. h.ended .. '|' .. h.outcome .. '|' .. h.ok .. '|' .. h.err
end

-- sheet reads the stored shards of a run, by their index, when they are first needed: most steps parse few of them. If the sheet of the run is
-- gone, it is not known which shards were granted: all are lost.
local function sheet(s, r)
  if s.sheet then return s.sheet end
  local fields, list = {'f', 'a', 'p'}, {}
  for i = 1, tonumber(r.shards) do fields[i + 3] = i - 1 end
  local h = call('HMGET', s.sheetkey, unpack(fields))
  local free = ''
  if h[1] ~= r.fence then h, free = {}, GONE end
  for i = 1, tonumber(r.shards) do list[i] = h[i + 3] or free end
  s.sheet, s.mode, s.params, s.written = list, h[2] or '0', h[3] or '', {}
  return list
end

-- write changes one shard of the sheet.
local function write(s, i, h)
  s.sheet[i] = packedshard(h)
  s.written[#s.written + 1] = i
  s.dirty = true
end

-- shard reads one shard of a run, how many are settled, and how many have an error. It returns nothing if the owner does not have
-- it under this fence.
local function shard(s, r, index, owner, fence)
  local h = call('HMGET', s.sheetkey, 'f', 'n', index, 'e')
  local x = h[1] == r.fence and h[3] and shardof(h[3])
  if x and x.owner == owner and x.fence == fence then return x, tonumber(h[2] or '0'), tonumber(h[4] or '0') end
end

local function broadcast(s) return s.mode >= '2' end

-- listof returns the parameters.
local function listof(params)
  local list = {}
  for p in string.gmatch(params, '([^;]*);') do list[#list + 1] = p end
  return list
end

-- leftof returns for how many ms the lease of a stored shard is still alive, or 0.
local function leftof(stored)
  local till = match(stored, UNTIL)
  local left = till and tonumber(till) - ms or 0
  return left > 0 and left <= LONGEST and left or 0
end

-- settled reports whether a run or a shard has its verdict, by its state or its stored text.
local function settled(state) return find(state, '^[dl]') ~= nil end

-- leased reports whether the lease of a shard is alive.
local function leased(s, r)
  for _, stored in ipairs(sheet(s, r)) do
    if leftof(stored) > 0 then return true end
  end
  return false
end

-- lives reports whether a run is alive. A sharded one is, until a step has settled all its shards; but once it
-- is replaced or cancelled no shard may start, so it is alive with its leases only.
local function lives(s, r)
  if not sharded(r) then return alive(r) end
  return r.must == '0' or leased(s, r)
end

-- drop forgets the sheet, whose run is pruned.
local function drop(s) s.sheet, s.survey, s.dropped = nil, nil, true end

-- opensheet makes a sheet of free shards in place of the one before it.
local function opensheet(s, r, mode, params)
  drop(s)
  s.sheet, s.mode, s.params, s.written = {}, mode, params, {}
  for i = 1, tonumber(r.shards) do s.sheet[i] = '' end
  s.opened = r.fence
end

-- putsheet writes the shards that this step has changed. The caller writes the state after it.
local function putsheet(s)
  if s.dropped then call('DEL', s.sheetkey) end
  if s.opened then call('HSET', s.sheetkey, 'f', s.opened, 'a', s.mode, 'p', s.params) end
  if s.sheet and (s.opened or #s.written > 0) then call('PEXPIRE', s.sheetkey, LIFE) end
  if not s.sheet or #s.written == 0 then return end
  local n, fields = 0, {}
  for _, stored in ipairs(s.sheet) do
    if settled(stored) then n = n + 1 end
  end
  for _, i in ipairs(s.written) do
    fields[#fields + 1] = i - 1
    fields[#fields + 1] = s.sheet[i]
  end
  call('HSET', s.sheetkey, 'n', n, unpack(fields))
end

-- listed returns the sheet of a run that is not settled, for a reader: +mode+parameters, and +shard
-- for each shard, with nothing behind the + of a free one.
local function listed(s)
  local r = unsettled(s)
  if not r then return '' end
  local shards = table.concat(sheet(s, r), '+')
  return '+' .. s.mode .. '+' .. s.params .. '+' .. shards
end
