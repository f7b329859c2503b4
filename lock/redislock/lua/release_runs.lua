-- release_runs ends runs. An end is accepted until another step has settled the
-- run, even after its deadline; a repetition gets the same answer. Each end of a cancelled run is final.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition by their last change: see journal.lua
-- then for each run
--   KEYS   the state, the journal
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have
-- then for each run
--   ARGV   number · owner · fence · how: k done and ok, d done, u never started,
--          b given back · outcome · the error's text
-- returns  lines: the store's µs, for each run "1|the number that waits for this
--          end, or 0|the fence to take it over with", or "0": lost
--
-- The first write is an expiry: a store at maxmemory accepts the later writes.

-- include: state.lua
-- include: journal.lua

-- ended names the number that waits for this end. A run of a backfill that is over waits too, because
-- no claim of another number is offered it.
local function ended(s)
  local number, fence = '0', '0'
  for _, r in ipairs(runs(s)) do
    local first = number == '0' or r.start == '' -- a number of the spec goes first
    local waits = r.state == 'w' or r.work ~= '' and over(s, r)
    if waits and first and not bars(s, r) and not lively(s) then number, fence = r.number, r.fence end
  end
  return '1|' .. number .. '|' .. fence
end

-- fitting returns the error's text if there is room for it. In a full partition the series gives up two
-- old lines for the text; a series without two such lines keeps no text.
local function fitting(j, why)
  if why == '' or not full() then return why end
  if call('LLEN', j) <= 2 then return '' end
  pushed[#pushed + 1] = j
  return why
end

-- note writes the end of r into the line of its grant, if that is the last line: while r is open,
-- no other line has its fence.
local function note(j, r, outcome, why)
  local last, tail = call('LINDEX', j, -1) or '', '|' .. r.fence .. '|' .. r.attempt .. '||||'
  local ending = outcome .. '|' .. now .. '|' .. fitting(j, why) .. '|'
  if sub(last, -#tail) == tail and match(last, '^%-?%d+|(%a)|') == 'r' then
    replace(j, last, sub(last, 1, -4) .. ending)
  else
    push(j, sub(line('e', r.number, r.number, '', '', node(r.owner), '', r.fence, r.attempt), 1, -4) .. ending)
  end
end

local writes = false -- the first write is done

local function release(i)
  local at = 6 * i - 4
  local s, number, how = read(KEYS[2 * i + 2], KEYS[2 * i + 3]), ARGV[at + 1], ARGV[at + 4]
  local r, outcome = run(s, number), ARGV[at + 5]
  if r and cancelled(r) and (how == 'u' or how == 'b') then how, outcome = 'd', 'cancelled' end
  local state = how == 'k' and 'd' or how
  if not r or r.owner ~= ARGV[at + 2] or r.fence ~= ARGV[at + 3] then return '0' end
  if r.state == state then return ended(s) end
  if r.state ~= 'o' then return '0' end
  if not writes then
    call('PEXPIRE', s.key, LIFE)
    writes = true
  end
  note(s.journal, r, outcome, ARGV[at + 6])
  r.state = state
  if how == 'u' then r.attempt = int(r.attempt - 1) end
  if how == 'k' and r.start == '' and tonumber(number) > tonumber(s.last) then s.last = number end
  if state == 'd' then
    prune(s, number)
    if r.work ~= '' then refill(s) end
  end
  put(s, 'f', s.fence, 'l', s.last, 'r', packed(s))
  return ended(s)
end

return verdicts((#KEYS - 3) / 2, release)
