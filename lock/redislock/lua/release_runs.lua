-- release_runs ends runs. An end is accepted until another step has settled the
-- run, even after its deadline; a repetition gets the same answer. Each end of a cancelled run is final.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition by their last change: see journal.lua
-- then for each run
--   KEYS   the state, the journal, the sheet
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have
-- then for each run
--   ARGV   number, or of a shard number*index*shards · owner · fence · how: k done and ok, d done, u never started,
--          b given back · outcome · the error's text, of a shard see sheet.lua
-- returns  lines: the store's µs, for each run "1|the number that waits for this
--          end, or 0|the fence to take it over with", and #the sum if it was the last shard, see
--          sum.lua; or "0": lost
--
-- The first write is an expiry: a store at maxmemory accepts the later writes.

-- include: state.lua
-- include: journal.lua

function makesheets()
-- include: sheet.lua
-- include: sum.lua
  return { leased = leased, put = putsheet, shard = shard, packed = packedshard, sum = sumup }
end

local MOST_ERRORS = 16 -- MaxShardErrors of the package series

-- ended names the number that waits for this end. A run of a backfill that is over waits too, because
-- no claim of another number is offered it.
local function ended(s)
  local number, fence = '0', '0'
  for _, r in ipairs(runs(s)) do
    local first = number == '0' or r.start == '' -- a number of the spec goes first
    local waits = r.state == 'w' or r.work ~= '' and over(s, r)
    if waits and first and not bars(s, r) and not lively(s) then number, fence = r.number, r.fence end
  end
  return '1|' .. number .. '|' .. fence .. (s.sum and '#' .. s.sum or '')
end

local writes = false -- the first write is done

local function begin(s)
  if writes then return end
  call('PEXPIRE', s.key, LIFE)
  writes = true
end

-- store writes the state in which r was settled, if it was.
local function store(s, r)
  if settled(r.state) then
    prune(s, r.number)
    refill(s)
  end
  if s.sheet or s.dropped then sheets().put(s) end
  put(s, 'f', s.fence, 'l', s.last, 'r', packed(s))
end

local divided -- the state of the series whose shards end, until a step changes it: many shards in a row have one series

-- releaseshard ends a shard, and settles the number if it was the last one.
local function releaseshard(s, r, index, owner, fence, how, state, outcome, err)
  local h, n, errors = sheets().shard(s, r, index, owner, fence)
  if not h then return '0' end
  if h.state == state then return ended(s) end
  if h.state ~= 'o' then return '0' end
  begin(s)
  h.state = state
  if outcome == '' then outcome = how == 'k' and 'ok' or 'failed' end
  if how == 'u' then h.attempt = int(h.attempt - 1) end -- an unstarted attempt does not count
  if state == 'd' then
    h.ended, h.outcome, h.ok, n = now, outcome, how == 'k' and '1' or '0', n + 1
    if err ~= '' and errors < MOST_ERRORS then
      h.err = err
      call('HSET', s.sheetkey, 'e', errors + 1)
    end
  else
    call('HSET', s.sheetkey, 'w', 0) -- the shard may start
  end
  if divided ~= s then call('PEXPIRE', s.sheetkey, LIFE) end
  call('HSET', s.sheetkey, index, sheets().packed(h), 'n', n)
  s.sheet = nil -- it is read again if it is needed
  local last = state == 'd' and n >= tonumber(r.shards)
  divided = not last and s
  if last and sheets().sum(s, r) then store(s, r) end
  return ended(s)
end

local function release(i)
  local at = 6 * i - 4
  local key, how, outcome = KEYS[3 * i + 1], ARGV[at + 4], ARGV[at + 5]
  local s = divided and divided.key == key and divided or read(key, KEYS[3 * i + 2], KEYS[3 * i + 3])
  local number, index, shards = match(ARGV[at + 1], '^(%d+)%*?(%d*)%*?(%d*)$')
  local r = run(s, number)
  if not r or r.shards ~= shards then return '0' end
  if cancelled(r) and (how == 'u' or how == 'b') then how, outcome = 'd', 'cancelled' end
  local state = how == 'k' and 'd' or how
  if shards ~= '' then return releaseshard(s, r, index, ARGV[at + 2], ARGV[at + 3], how, state, outcome, ARGV[at + 6]) end
  if r.owner ~= ARGV[at + 2] or r.fence ~= ARGV[at + 3] then return '0' end
  if r.state == state then return ended(s) end
  if r.state ~= 'o' then return '0' end
  begin(s)
  divided = nil
  note(s.journal, r, outcome, ARGV[at + 6])
  r.state = state
  if how == 'u' then r.attempt = int(r.attempt - 1) end
  if how == 'k' and r.start == '' and tonumber(number) > tonumber(s.last) then s.last = number end
  store(s, r)
  return ended(s)
end

return verdicts((#KEYS - 3) / 3, release)
