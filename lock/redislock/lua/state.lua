-- The first part of every script on series: the store's clock, read once, and
-- the state of a series.
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
-- "*shards" is the last part: until is then the latest instant at which a free shard may start. Two fields are
-- read only where they are needed: n is the number of the latest manual run, and q the rest of a
-- backfill: "room|second,distance,distance".
-- Text from callers is escaped before it is sent: it has no ; | + * # in it.
--
-- Numbers stay in their stored text and become numbers only to be compared. A double
-- holds them exactly, but Lua's default text of it loses digits. Converting a text takes
-- as long as a small command, and many series have the same texts: each is converted
-- once.

local call, find, match, sub = redis.call, string.find, string.match, string.sub
local floor, max = math.floor, math.max
local numbers, reads = {}, tonumber
local function tonumber(text)
  if not text then return nil end
  local n = numbers[text]
  if not n then
    n = reads(text)
    numbers[text] = n
  end
  return n
end

local LIFE = 7776000000 -- ms for which an unused key is kept: 90 days
local LONGEST = 172800000 -- ms by which a deadline may lie ahead: the longest TTL, and as much again for a clock put back

local clock = call('TIME')
local us = clock[1] * 1000000 + clock[2]
local ms = floor(us / 1000)

local function int(x) return string.format('%.0f', x) end
local now, instant = int(ms), int(us)

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
  local h = call('HMGET', key, 'm', 'b', 'f', 'l', 'p', 's', 'r')
  if h[7] and #h[7] > MANY then error('more runs than one step reads') end
  local s = {
    key = key, journal = journal, sheetkey = sheetkey, settled = '',
    mark = h[1] or '0', by = h[2] or '', fence = h[3] or '0', last = h[4] or '0',
    pause = h[5] and tonumber(h[5]) or 0, till = '', skip = '', spent = h[6] or '', text = h[7] or '',
  }
  s.paused = s.pause > 0
  if h[5] and find(h[5], '[|!]') then ending(s, h[5]) end
  return s
end

local function packedpause(s)
  return int(s.pause) .. (s.till == '' and '' or '|' .. s.till) .. (s.skip == '' and '' or '!' .. s.skip)
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

-- include: sheet.lua

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

-- left returns how many numbers of a backfill have no run yet. While there are any, one run is not settled.
local function left(s)
  local rest = backfilling(s) and (s.rest or call('HMGET', s.key, 'q')[1])
  if not rest or rest == '' then return '0' end
  local _, commas = string.gsub(rest, ',', '')
  return int(commas + 1)
end

-- series returns the state for a reader, with its pause: change|end|skip|left|ms|op|who|reason, its runs, and the
-- sheet of the one that is sharded: see listed.
local function series(s, since, other)
  local why = '|||'
  if s.pause > 0 then why = s.why or call('HMGET', s.key, 'c')[1] or why end
  return (since or '0') .. '|' .. (other or '') .. '|' .. s.mark .. '|' .. s.fence .. '|' .. s.last
    .. '|' .. int(s.pause) .. '|' .. s.till .. '|' .. s.skip .. '|' .. left(s) .. '|' .. why .. packed(s) .. listed(s)
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
