-- The part of claim that grants the shards of a run.

-- mayrunshard is mayrun for a shard that is over. Its first attempt is bound by the deadline of the open sheet.
local function mayrunshard(h, r, c)
  if h.attempt == '0' then return r.must == '0' and ms <= tonumber(r.till) end
  return mayrun({ number = r.number, state = h.state, attempt = h.attempt, must = r.must, start = '' }, c)
end

-- ownof returns the place of the shard that belongs to the caller's node in a broadcast, 0 if it has none.
local function ownof(s, c)
  if not broadcast(s) then return end
  local name = node(c.owner)
  for i, p in ipairs(listof(s.params)) do
    if p == name then return i end
  end
  return 0
end

-- survey reads the shards of an open sheet once for a claim, and keeps the result: which the caller's node may be granted
-- and how many they are, how many of them are not free, which are over and may not run again, and for how many ms at least the
-- leases of the others are alive, or another node may start its shard of a broadcast.
local function survey(s, r, c)
  if s.survey then return s.survey end
  local list = sheet(s, r)
  local v = { may = {}, free = 0, again = 0, barred = {}, left = 0, own = ownof(s, c) }
  local barred, fresh = bars(s, r), mayrunshard(shardof(''), r, c)
  -- examine judges a shard that is neither alive nor settled, and returns for how many ms it belongs to another node.
  local function examine(i, stored)
    local h = stored ~= '' and shardof(stored)
    local may = fresh
    if h then may = mayrunshard(h, r, c) end
    if barred or not may then
      v.barred[#v.barred + 1] = i
    elseif not v.own or v.own == i then
      v.may[i], v.free, v.again = true, v.free + 1, v.again + (h and 1 or 0)
    elseif not h or h.attempt == '0' then
      return tonumber(r.till) + 1 - ms
    end
    return 0
  end
  -- While no shard may wake, only the free ones are read.
  local asleep = s.wake - ms > 0 and s.wake - ms <= LONGEST
  if asleep then v.left = s.wake - ms end
  for i, stored in ipairs(list) do
    if stored == '' or not asleep then
      local left = stored == '' and 0 or leftof(stored)
      if left == 0 and not settled(stored) then left = examine(i, stored) end
      if left > 0 and (v.left == 0 or left < v.left) then v.left = left end
    end
  end
  s.survey = v
  return v
end

-- describe adds to the answer how many shards the run has, how many of them may start, when the first
-- lease of the others ends, and the shards that were granted.
local function describe(s, r, c, granted)
  local params, list = paramsof(s.params, granted), {}
  for k, i in ipairs(granted) do
    local h = s.shared and s.shared[i] or shardof(s.sheet[i])
    list[k] = i - 1 .. ',' .. h.fence .. ',' .. h.attempt .. ',' .. int(tonumber(h.till) - ms) .. ',' .. params[k]
  end
  local v = sharded(r) and survey(s, r, c) or { free = 0, left = 0 }
  s.shares = r.shards .. '|' .. v.free .. '|' .. int(v.left) .. '#' .. table.concat(list, ';')
end

-- shardsof returns the shards of an owner that are alive, and whether it was granted any. A cancelled run
-- does not start.
local function shardsof(s, r, owner)
  local mine, list, held = false, {}, '|' .. owner .. '|'
  for i, stored in ipairs(sheet(s, r)) do
    if find(stored, held, 1, true) == 2 then
      mine = true
      if leftof(stored) > 0 and not cancelled(r) then list[#list + 1] = i end
    end
  end
  return list, mine
end

local SHARDING = '^|(%d+)|(%d)|(%d+)|([^|]*)|(.*)$'

-- grantshards grants the caller at most as many shards as it takes at once, and returns them in rising
-- order.
local function grantshards(s, r, c)
  local _, _, most, want = match(c.terms.sharding, SHARDING)
  local v, list = survey(s, r, c), {}
  if v.free == 0 then return list end
  if v.own then want = int(v.own - 1) end
  s.shared = {}
  for index in string.gmatch(want, '%d+') do
    local i = tonumber(index) + 1
    if v.may[i] and #list < tonumber(most) then
      local h = shardof(s.sheet[i])
      if h.state ~= '' then v.again = v.again - 1 end
      if h.attempt == '0' then h.granted = now end
      h.state, h.owner, h.fence, h.attempt, h.till = 'o', c.owner, nextfence(s, c.seen), int(h.attempt + 1), c.terms.till
      write(s, i, h)
      s.shared[i], v.may[i], v.free = h, nil, v.free - 1
      list[#list + 1] = i
    end
  end
  local left = #list > 0 and tonumber(c.terms.till) - ms or 0
  if left > 0 and (v.left == 0 or left < v.left) then v.left = left end
  s.wake = v.again == 0 and not v.own and ms + v.left or 0
  table.sort(list)
  return list
end

-- divide divides a run that was just granted. A free shard may start until the window has passed, and one of a broadcast
-- until the deadline has. If the number was opened late, half the deadline is left.
local function divide(s, r, c)
  local shards, mode, _, _, params = match(c.terms.sharding, SHARDING)
  local number, granted, window, deadline = tonumber(r.number), tonumber(r.granted), c.terms.window, c.terms.deadline
  r.shards = shards
  r.till = window < 0 and RETIRED or int(max(number, granted) + window)
  if mode >= '2' then r.till = int(max(number + deadline - 1, granted + floor(deadline / 2))) end
  opensheet(s, r, mode, params)
end

-- sweepsheet settles the shards that are over and may not run again, and the free ones that may not start.
local function sweepsheet(s, r, c)
  for _, i in ipairs(survey(s, r, c).barred) do settleshard(s, r, i) end
  return sumup(s, r)
end

-- share grants shards of an open sheet, first ones and further attempts.
local function share(s, r, c)
  if sweepsheet(s, r, c) then return passed(s, c.number, text(r)) end
  local list = grantshards(s, r, c)
  describe(s, r, c, list)
  return reply(s, #list > 0 and 'g' or 'p', text(r))
end
