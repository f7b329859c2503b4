-- The part of claim that grants the shards of a run.

-- mayrunshard is mayrun for a shard. Its first attempt is bound by the deadline of the open sheet.
local function mayrunshard(h, r, c)
  if h.attempt == '0' then return r.must == '0' and ms <= tonumber(r.till) end
  return mayrun({ number = r.number, state = h.state, attempt = h.attempt, must = r.must, start = '' }, c)
end

-- startable returns the shards that may be granted, as a set of their places, and how many they are: those
-- that are free, or over and may have another attempt.
local function startable(s, r, c)
  local set, n, barred = {}, 0, bars(s, r)
  for i, h in ipairs(sheet(s, r)) do
    if not barred and not settled(h) and not alive(h) and mayrunshard(h, r, c) then set[i], n = true, n + 1 end
  end
  return set, n
end

local function free(s, r, c)
  local _, n = startable(s, r, c)
  return n
end

-- describe adds to the answer how many shards the run has, how many of them may start, when the first
-- lease of the others ends, and the shards that were granted.
local function describe(s, r, c, granted)
  local left, list = 0, {}
  if sharded(r) then
    for _, h in ipairs(sheet(s, r)) do
      local rest = alive(h) and tonumber(h.till) - ms or 0
      if rest > 0 and (left == 0 or rest < left) then left = rest end
    end
  end
  local params, at = {}, 0
  for p in string.gmatch(#granted > 0 and s.params or '', '([^;]*);') do
    at = at + 1
    params[at] = p
  end
  for k, i in ipairs(granted) do
    local h = s.sheet[i]
    list[k] = i - 1 .. ',' .. h.fence .. ',' .. h.attempt .. ',' .. int(tonumber(h.till) - ms) .. ',' .. (params[i] or '')
  end
  s.shares = r.shards .. '|' .. (sharded(r) and free(s, r, c) or 0) .. '|' .. int(left) .. '#' .. table.concat(list, ';')
end

-- shardsof returns the shards of an owner that are alive, and whether it was granted any. A cancelled run
-- does not start.
local function shardsof(s, r, owner)
  local mine, list = false, {}
  for i, h in ipairs(sheet(s, r)) do
    if h.owner == owner then
      mine = true
      if alive(h) and not cancelled(r) then list[#list + 1] = i end
    end
  end
  return list, mine
end

local SHARDING = '^|(%d+)|(%d)|(%d+)|([^|]*)|(.*)$'

-- grantshards grants the caller at most as many shards as it takes at once, and returns them in rising
-- order.
local function grantshards(s, r, c)
  local _, _, most, want = match(c.terms.sharding, SHARDING)
  local may, list = startable(s, r, c), {}
  for index in string.gmatch(want, '%d+') do
    local i = tonumber(index) + 1
    if may[i] and #list < tonumber(most) then
      local h = s.sheet[i]
      if h.attempt == '0' then h.granted = now end
      h.state, h.owner, h.fence, h.attempt, h.till = 'o', c.owner, nextfence(s, c.seen), int(h.attempt + 1), c.terms.till
      may[i] = nil
      list[#list + 1] = i
      s.written[#s.written + 1] = i
    end
  end
  table.sort(list)
  s.dirty = s.dirty or #list > 0
  return list
end

-- divide divides a run that was just granted. A free shard may start until the window has passed.
local function divide(s, r, c)
  local shards, failall, _, _, params = match(c.terms.sharding, SHARDING)
  r.shards = shards
  r.till = c.terms.window < 0 and RETIRED or int(max(tonumber(r.number), tonumber(r.granted)) + c.terms.window)
  opensheet(s, r, failall, params)
end

-- sweepsheet settles the shards that are over and may not run again, and the free ones that may not start.
local function sweepsheet(s, r, c)
  local barred = bars(s, r)
  for i, h in ipairs(sheet(s, r)) do
    if not settled(h) and not alive(h) and (barred or not mayrunshard(h, r, c)) then settleshard(s, r, i) end
  end
  return sumup(s, r)
end

-- share grants shards of an open sheet, first ones and further attempts.
local function share(s, r, c)
  if sweepsheet(s, r, c) then return passed(s, c.number, text(r)) end
  local list = grantshards(s, r, c)
  describe(s, r, c, list)
  return reply(s, #list > 0 and 'g' or 'p', text(r))
end
