-- The part of the state that is about the sheet of a sharded run: a hash with a field for each shard
-- that is not free, by its index, as
--   state|owner|fence|attempt|granted|until|ended|outcome|ok|error
-- with the states of runs; the error is escaped twice, since the text of a sheet is escaped once more, and older nodes wrote none. f is
-- the fence of the run, n how many shards are settled, e how many of them have an error, p the parameters, each
-- with a ; behind it, and a the mode: 1 if the number fails only if no shard was ok, plus 2 in a broadcast, whose
-- shards belong to the nodes that the parameters name. Before the ms w no shard that is not free may start: its lease is
-- alive, or it is settled. w is 0 if that is not known: a shard was given back, or renewed for a shorter time, or the shards are of
-- a broadcast. A series has at most one sheet.

local SHARD = '^(%a)|([^|]*)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|([01])|?([^|]*)$'
local GONE = 'l||0|0|0|0|0|lost|0'
local UNTIL = '^o|[^|]*|%d+|%d+|%d+|(%d+)'

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
  local fields, list = {'f', 'a', 'p', 'n', 'w'}, {}
  for i = 1, tonumber(r.shards) do fields[i + 5] = i - 1 end
  local h = call('HMGET', s.sheetkey, unpack(fields))
  local free = ''
  if h[1] ~= r.fence then h, free = {[4] = r.shards}, GONE end
  for i = 1, tonumber(r.shards) do list[i] = h[i + 5] or free end
  s.sheet, s.mode, s.params, s.written = list, h[2] or '0', h[3] or '', {}
  s.ended, s.wake = tonumber(h[4] or '0'), tonumber(h[5] or '0')
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

-- paramsof returns the parameters of some shards, by their places in rising order, and '' for a shard that has none.
local function paramsof(params, places)
  local list, at, place = {}, 1, 1
  for k, i in ipairs(places) do
    while at and place < i do
      local semicolon = find(params, ';', at, true)
      at, place = semicolon and semicolon + 1, place + 1
    end
    list[k] = at and match(params, '^([^;]*);', at) or ''
  end
  return list
end

-- leftof returns for how many ms the lease of a stored shard is still alive, or 0.
local function leftof(stored)
  local till = match(stored, UNTIL)
  local left = till and tonumber(till) - ms or 0
  return left > 0 and left <= LONGEST and left or 0
end

-- leased reports whether the lease of a shard is alive.
local function leased(s, r)
  for _, stored in ipairs(sheet(s, r)) do
    if leftof(stored) > 0 then return true end
  end
  return false
end

-- opensheet makes a sheet of free shards in place of the one before it.
local function opensheet(s, r, mode, params)
  drop(s)
  s.sheet, s.mode, s.params, s.written, s.ended, s.wake = {}, mode, params, {}, 0, 0
  for i = 1, tonumber(r.shards) do s.sheet[i] = '' end
  s.opened = r.fence
end

-- putsheet writes the shards that this step has changed. The caller writes the state after it.
local function putsheet(s)
  if s.dropped then call('DEL', s.sheetkey) end
  if s.opened then call('HSET', s.sheetkey, 'f', s.opened, 'a', s.mode, 'p', s.params) end
  if s.sheet and (s.opened or #s.written > 0) then call('PEXPIRE', s.sheetkey, LIFE) end
  if not s.sheet or #s.written == 0 then return end
  local fields = {}
  for _, i in ipairs(s.written) do
    fields[#fields + 1] = i - 1
    fields[#fields + 1] = s.sheet[i]
  end
  call('HSET', s.sheetkey, 'n', s.ended, 'w', int(s.wake), unpack(fields))
end

-- listed returns the sheet of a run for a reader: +mode+parameters, and +shard for each shard, with nothing behind the + of a
-- free one.
local function listed(s, r)
  local shards = table.concat(sheet(s, r), '+')
  return '+' .. s.mode .. '+' .. s.params .. '+' .. shards
end
