-- The part of the scripts that settle shards: each settled shard has an outcome or, if it ended without one,
-- its verdict, and the step that settles the last one settles the number.

local WORDS = { l = 'lost', m = 'missed', p = 'paused', u = 'superseded' }

-- COUNTED is where the outcomes of shards that are not ok count: see Sum.counter of the package series. All others are failures.
local COUNTED = { lost = 'lost', cancelled = 'cancelled', missed = 'missed', paused = 'missed', superseded = 'missed' }

-- settleshard gives a shard with this index, that is not alive, its final verdict.
local function settleshard(s, r, i)
  local h = shardof(s.sheet[i])
  local verdict, reason = lastverdict(s, r, h.attempt)
  h.state, h.ended, h.outcome = 'l', now, reason == 'cancelled' and reason or WORDS[verdict]
  s.ended = s.ended + 1
  write(s, i, h)
end

-- counted returns the shards and counts them, or nothing if one of them is not settled.
local function counted(s, r)
  local n, list = { ok = 0, failed = 0, lost = 0, missed = 0, cancelled = 0 }, {}
  for _, stored in ipairs(sheet(s, r)) do
    if not settled(stored) then return end
  end
  for i, stored in ipairs(s.sheet) do
    local h = shardof(stored)
    local how = h.ok == '1' and 'ok' or COUNTED[h.outcome] or 'failed'
    n[how], list[i] = n[how] + 1, h
  end
  return list, n
end

local function outcomeof(s, r, n)
  if n.ok == tonumber(r.shards) or (s.mode == '1' or s.mode == '3') and n.ok > 0 then return 'ok' end
  if n.cancelled > 0 then return 'cancelled' end
  return n.failed == 0 and n.lost > 0 and 'lost' or 'failed'
end

-- sheettext is Sheet.text of the package series, with escaped names.
local function sheettext(s, list, r)
  local nodes, index, parts, to = {}, {}, {}, broadcast(s) and listof(s.params) or {}
  local function at(name)
    if not index[name] then
      index[name] = #nodes
      nodes[#nodes + 1] = name
    end
    return index[name]
  end
  for i, h in ipairs(list) do
    local part = h.outcome .. (h.ok == '1' and '+' or '')
    if h.fence ~= '0' then
      part = part .. ',' .. h.attempt .. ',' .. at(node(h.owner)) .. ',' .. int(tonumber(h.fence) - tonumber(r.fence))
        .. ',' .. int(tonumber(h.granted) - tonumber(r.granted)) .. ',' .. int(tonumber(h.ended) - tonumber(h.granted))
        .. (h.err ~= '' and ',' .. h.err or '')
    elseif to[i] then
      part = part .. ',' .. at(to[i])
    end
    parts[i] = part
  end
  return table.concat(nodes, ';') .. '|' .. table.concat(parts, ';')
end

-- sumup settles the number if all its shards are settled: s.sum is then
-- number|fence|outcome|shards|ok|failed|lost|missed|cancelled|ms from the opening. It reports whether it did.
local function sumup(s, r)
  local list, n = counted(s, r)
  if not list then return false end
  local outcome = outcomeof(s, r, n)
  r.state, s.dirty = 'd', true
  if outcome == 'ok' and r.start == '' and tonumber(r.number) > tonumber(s.last) then s.last = r.number end
  note(s.journal, r, outcome, '', sheettext(s, list, r))
  s.sum = r.number .. '|' .. r.fence .. '|' .. outcome .. '|' .. r.shards .. '|' .. n.ok .. '|' .. n.failed
    .. '|' .. n.lost .. '|' .. n.missed .. '|' .. n.cancelled .. '|' .. int(ms - tonumber(r.granted))
  return true
end

-- clearsheet settles all shards that are not alive.
local function clearsheet(s, r)
  for i, stored in ipairs(sheet(s, r)) do
    if not settled(stored) and leftof(stored) == 0 then settleshard(s, r, i) end
  end
  return sumup(s, r)
end
