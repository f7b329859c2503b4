-- The first part of every script on series: the state of a series.
--
-- A state is a hash: m mark, b the node that decided it, f last fence, l latest
-- number that ended ok, p pause ("change" while paused, "-change" after it, followed by
-- "|ms" if it has an end, and by "!number" if an operator skips that number, which may be below the
-- mark), c why it is paused ("ms|op|who|reason"),
-- s latest spending ("owner|kind|fence"), r the stored runs, each as
--   ;number|state|owner|fence|attempt|granted|until|end
-- with the states o open, b given back, u unstarted, w waiting, d done, l lost. The end is why its
-- holder must end it: 0 it need not, 1 replaced, 2 cancelled, 3 both. The run is manual if the ms by
-- which it must start follows: "|start by", and it is of a backfill if "|for|room" follow. It is sharded if
-- "*shards" is the last part: until is then the latest instant at which a free shard may start. The rest of a
-- backfill is q: "room|second,distance,distance". The number of the latest manual run is n, which is read only where it is
-- needed.
-- Text from callers is escaped before it is sent: it has no ; | + * # in it.

local RETIRED = '9007199254740991' -- the end of a retirement's pause: the next opening ends it

local MANY = 2097152 -- bytes of runs that one step reads

-- ending reads a pause with an end, or with a number to skip.
local function ending(s, p)
  local change, till, skip = match(p, '^(%-?%d+)|?(%d*)!?(%d*)$')
  if not change then error('a pause in an unknown format') end
  s.pause, s.till, s.skip = tonumber(change), till, skip
  s.paused = s.pause > 0 and (till == '' or ms <= tonumber(till))
end

local function read(key, journal, sheetkey)
  local h = call('HMGET', key, 'm', 'b', 'f', 'l', 'p', 's', 'r', 'q')
  if h[7] and #h[7] > MANY then error('more runs than one step reads') end
  local s = { -- with what a claim adds, 16 fields: Lua doubles a table for one more
    key = key, journal = journal, sheetkey = sheetkey, settled = '',
    mark = h[1] or '0', by = h[2] or '', fence = h[3] or '0', last = h[4] or '0',
    pause = h[5] and tonumber(h[5]) or 0, spent = h[6] or '', text = h[7] or '',
  }
  if h[8] and h[8] ~= '' then s.rest = h[8] end
  s.paused = s.pause > 0
  if h[5] and find(h[5], '[|!]') then ending(s, h[5]) end
  return s
end

local function packedpause(s)
  return int(s.pause) .. ((s.till or '') == '' and '' or '|' .. s.till) .. ((s.skip or '') == '' and '' or '!' .. s.skip)
end

local RUN = '^;(%d+)|(%a)|([^|;]*)|(%d+)|(%d+)|(%d+)|(%d+)|([0-3])|?(%d*)|?(%d*)|?(%d*)%*?(%d*)'

-- runs reads the runs of a state when they are first needed.
local function runs(s)
  if s.runs then return s.runs end
  local pos, list = 1, {}
  while pos <= #s.text do
    local _, last, number, state, owner, fence, attempt, granted, till, must, start, work, room, shards = find(s.text, RUN, pos)
    if not last or #shards > 4 then error('a run in an unknown format') end
    list[#list + 1] = {
      number = number, state = state, owner = owner, fence = fence,
      attempt = attempt, granted = granted, till = till, must = must, start = start, work = work, room = room, shards = shards,
    }
    pos = last + 1
  end
  s.runs = list
  return list
end

local function text(r)
  return ';' .. r.number .. '|' .. r.state .. '|' .. r.owner .. '|' .. r.fence .. '|' .. r.attempt
    .. '|' .. r.granted .. '|' .. r.till .. '|' .. r.must .. (r.start == '' and '' or '|' .. r.start)
    .. (r.work == '' and '' or '|' .. r.work .. '|' .. r.room) .. (r.shards == '' and '' or '*' .. r.shards)
end

local function packed(s)
  if not s.runs then return s.text end
  if #s.runs == 1 then return text(s.runs[1]) end
  local parts = {}
  for i, r in ipairs(runs(s)) do parts[i] = text(r) end
  return table.concat(parts)
end

local function run(s, number)
  for _, r in ipairs(runs(s)) do
    if r.number == number then return r end
  end
end

-- alive reports whether a run is open, and its time is neither over nor further ahead than the end
-- of any lease.
local function alive(r)
  local left = r.state == 'o' and tonumber(r.till) - ms or 0
  return left > 0 and left <= LONGEST
end

-- sheets returns the functions about sheets. Each script makes those that it uses when it first needs one: a script makes its
-- functions anew in each call, and most calls are about runs without shards.
local makesheets, made
local function sheets()
  made = made or makesheets()
  return made
end

-- sharded reports whether a run has a sheet with shards that are not settled.
local function sharded(r) return r.shards ~= '' and r.state == 'o' end

-- unsettled returns the run that is sharded and not settled.
local function unsettled(s)
  for _, r in ipairs(runs(s)) do
    if sharded(r) then return r end
  end
end

-- settled reports whether a run or a shard has its verdict, by its state or its stored text.
local function settled(state) return find(state, '^[dl]') ~= nil end

-- lives reports whether a run is alive. A sharded one is, until a step has settled all its shards; but once it
-- is replaced or cancelled no shard may start, so it is alive with its leases only.
local function lives(s, r)
  if not sharded(r) then return alive(r) end
  return r.must == '0' or sheets().leased(s, r)
end

-- drop forgets the sheet, whose run is pruned.
local function drop(s) s.sheet, s.survey, s.dropped = nil, nil, true end

local function lively(s)
  for _, r in ipairs(runs(s)) do
    if lives(s, r) then return r end
  end
end

-- cancelled reports whether an operator cancelled a run.
local function cancelled(r) return r.must >= '2' end

-- over reports whether a run may be taken over or settled.
local function over(s, r)
  if r.state == 'o' then return not lives(s, r) end
  if r.state == 'w' then return r.start ~= '' or not lively(s) end
  return r.state == 'b' or r.state == 'u'
end

-- bars reports whether the pause keeps a run from being granted: a manual run that was requested
-- during the pause may be.
local function bars(s, r)
  if not s.paused or r.start == '' then return s.paused end
  local since = match(s.why or call('HMGET', s.key, 'c')[1] or '', '^(%d+)|')
  return not since or tonumber(r.number) < tonumber(since)
end

-- pending reports whether a run is manual and has not started yet.
local function pending(r) return r.start ~= '' and r.attempt == '0' and (r.state == 'w' or r.state == 'u') end

-- prune deletes settled runs, but not the run of the number to keep.
local function prune(s, keep)
  local kept = {}
  for _, r in ipairs(runs(s)) do
    if (r.state ~= 'd' and r.state ~= 'l') or r.number == keep then
      kept[#kept + 1] = r
    elseif r.shards ~= '' then
      drop(s)
    end
  end
  s.runs = kept
end

local function node(owner) return match(owner, '^(.*)/') or '' end

-- backfilling returns the run of a backfill that is not settled.
local function backfilling(s)
  for _, r in ipairs(runs(s)) do
    if r.work ~= '' and r.state ~= 'd' and r.state ~= 'l' then return r end
  end
end

-- left returns how many numbers of a backfill have no run yet.
local function left(s)
  if not s.rest or s.rest == '' then return '0' end
  local _, commas = string.gsub(s.rest, ',', '')
  return int(commas + 1)
end

-- series returns the state for a reader, with its pause: change|end|skip|left|ms|op|who|reason, its runs, and the
-- sheet of the one that is sharded: see listed.
local function series(s, since, other)
  local why = '|||'
  if s.pause > 0 then why = s.why or call('HMGET', s.key, 'c')[1] or why end
  local settled = not s.runs and (s.text == '' or find(s.text, '^;%d+|[dl]|[^;]*$')) -- mostly: its parts need not be read then
  local divided = not settled and unsettled(s)
  return (since or '0') .. '|' .. (other or '') .. '|' .. s.mark .. '|' .. s.fence .. '|' .. s.last
    .. '|' .. int(s.pause) .. '|' .. (s.till or '') .. '|' .. (s.skip or '') .. '|' .. left(s) .. '|' .. why .. packed(s)
    .. (divided and sheets().listed(s, divided) or '')
end

-- prove fails unless this is a master: it writes, and changes nothing. The data of a replica is
-- never an answer.
local function prove() call('PEXPIRE', KEYS[1], 1) end

-- ask applies step to 1..n and returns lines: the store's µs, then the answers. If a step fails (a
-- key of a foreign type, a store that is full), its answer is "!error"; the other steps are not
-- affected.
local function ask(n, step)
  local out = {instant}
  for i = 1, n do
    local ok, answer = pcall(step, i)
    if not ok then
      answer = '!' .. string.gsub(type(answer) == 'table' and answer.err or tostring(answer), '\n', ' ')
    end
    out[i + 1] = answer
  end
  return out
end

-- answers calls ask, and fails unless this is a master.
local function answers(n, step)
  local out = ask(n, step)
  prove()
  return table.concat(out, '\n')
end
