-- claim claims numbers of series. The first rule that matches is the answer.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition by their last change: see journal.lua
-- then for each claim
--   KEYS   the state, the journal, the sheet
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have
-- then for each claim
--   ARGV   owner · number · number before it, or of a takeover the next number of the spec ·
--          fence to take over from, or 0 ·
--          the highest fence of the series that the caller has seen ·
--          m if numbers lie between, or nothing · revision · terms
-- terms    ttl|deadline|late|attempts|rerun|window|overlap|backlog|latest|node:
--          times in ms, window -1 for none, late a reason (with "respecified" the
--          number is never granted), flags 0 or 1, latest the last instant; one
--          text for many claims. Of a sharded number follow |shards|mode|most|want,want|params,
--          each of these with a ; behind it
-- returns  lines: the store's µs, then for each claim
--          kind|mark|last|from|fence|node, the stored text of the run that it describes,
--          +number|fence|attempt|verdict for each number that was settled; of a sharded run
--          #shards|free|left#shard,fence,attempt,left,param for each granted shard, a ; between them,
--          #the sum, see sum.lua
-- kinds    g granted, o over, p passed, h held, e early, y early for the next number of the spec, a ahead, G gap,
--          O orphan, x expired, s skipped, k skipped for an operator, w waiting, m missed,
--          z paused, u not open, f the fence in it is more than a day ahead: doubt

-- include: state.lua
-- include: journal.lua
-- include: answer.lua

local DAY = 86400000
local FURTHEST = int(us + 1000 * DAY) -- the highest valid fence
local FURTHEST_SHARDED = int(us + 1000 * DAY - 1000) -- so that each of 1000 shards can have a fence above that of the run
local SKIP, ALLOW, REPLACE = 0, 2, 3

-- mayrun reports whether a run that is over may have another attempt. The deadline binds the first
-- attempt only; a replaced or cancelled run may have none.
local function mayrun(r, c)
  local late = ms - tonumber(r.number)
  if r.must ~= '0' then return false end
  if r.attempt == '0' and r.start ~= '' then return ms <= tonumber(r.start) end
  if r.attempt == '0' then return late <= c.terms.deadline end
  if r.state == 'o' and not c.terms.rerun then return false end
  local window = c.terms.window
  return tonumber(r.attempt) < c.terms.attempts and (window < 0 or late <= window)
end

-- beyond reports whether fences above this one are invalid. It compares texts if it can: texts of
-- equal length have the order of their numbers.
local function beyond(fence, furthest) return #fence > #furthest or #fence == #furthest and fence >= furthest end

-- nextfence compares texts in the same way. No two fences are equal.
local function nextfence(s, seen)
  if #seen <= #instant and (#seen < #instant or seen < instant) and #s.fence == #instant and s.fence < instant then
    s.fence = instant
    return instant
  end
  local fence = max(tonumber(s.fence), tonumber(seen)) + 1
  s.fence = fence < us and instant or int(fence)
  return s.fence
end

function makesheets()
-- include: sheet.lua
-- include: sum.lua
-- include: share.lua
  return {
    leased = leased, put = putsheet, divide = divide, grant = grantshards, describe = describe, of = shardsof,
    survey = survey, sweep = sweepsheet, share = share,
  }
end

-- spent repeats the answer of the latest spending. The answer to a waiter names the run that it
-- waits for.
local function spent(s)
  local kind, fence = match(s.spent, '|(%a)|(%d+)$')
  local h = kind == 'w' and lively(s)
  return reply(s, kind, h and text(h), '0', fence)
end

-- again answers a repeated claim of the same owner. A cancelled run does not start. An owner that was
-- granted no shard asks as if for the first time.
local function again(s, about, owner, number, t)
  if s.mark == number and find(s.spent, owner .. '|', 1, true) == 1 then return spent(s) end
  if find(about, '*', 1, true) then
    local r = run(s, number)
    local list, mine = sheets().of(s, r, owner)
    if not mine then return end
    sheets().describe(s, r, { owner = owner, terms = t }, list)
    return reply(s, #list > 0 and 'g' or 'o', about)
  end
  if not find(about, '|' .. owner .. '|', 1, true) then return end
  local r = run(s, number)
  if r.owner ~= owner or r.state == 'w' then return end
  return reply(s, alive(r) and not cancelled(r) and 'g' or 'o', about)
end

local TERMS = '^(%d+)|(%d+)|([^|]*)|(%d+)|(%d)|(%-?%d+)|(%d)|(%d)|(%d+)|([^|]*)(.*)$'
local known = {}

-- terms reads the parameters that many claims share.
local function terms(packed)
  local t = known[packed]
  if t then return t end
  local ttl, deadline, late, attempts, rerun, window, overlap, backlog, latest, by, sharding = match(packed, TERMS)
  t = {
    till = int(ms + tonumber(ttl)), deadline = tonumber(deadline), late = late, attempts = tonumber(attempts),
    rerun = rerun == '1', window = tonumber(window), overlap = tonumber(overlap), backlog = backlog == '1',
    latest = tonumber(latest), node = by, sharding = sharding ~= '' and sharding,
  }
  known[packed] = t
  return t
end

-- move raises the mark and returns the mark before.
local function move(s, c)
  local from = s.mark
  s.mark, s.by, s.dirty = c.number, c.terms.node, true
  return from
end

-- waiting returns a run that no node was granted yet.
local function waiting(c)
  return {
    number = c.number, state = 'w', owner = c.owner, fence = '0',
    attempt = '0', granted = now, till = '0', must = '0', start = '', work = '', room = '', shards = '',
  }
end

-- grant grants the number to the owner: the first attempt if r is nil, else the next attempt of r.
local function grant(s, c, r)
  local from, between = c.number, ''
  if not r then
    from, between = move(s, c), c.between
    if s.quiet and not find(s.text, '*', 1, true) then s.runs = {} else prune(s) end
    r = waiting(c)
    s.runs[#s.runs + 1] = r
  elseif c.terms.sharding and r.attempt == '0' then
    prune(s) -- the sheet before it has a settled run
  end
  if r.attempt == '0' then
    r.granted = now
  end
  r.owner, r.state = c.owner, 'o'
  r.fence, r.attempt, r.till = nextfence(s, c.seen), r.attempt == '0' and '1' or int(r.attempt + 1), c.terms.till
  s.dirty = true
  local opens = c.terms.sharding and r.attempt == '1'
  if opens then sheets().divide(s, r, c) end
  push(s.journal, line('r', from, c.number, between, '', c.terms.node, c.revision, r.fence, r.attempt) .. (opens and '|' .. r.shards or ''))
  if opens then sheets().describe(s, r, c, sheets().grant(s, r, c)) end
  return reply(s, 'g', text(r), from ~= c.number and from or '0')
end

-- spend moves the mark to the number without a grant.
local function spend(s, c, kind, verdict, between, reason, blocker)
  local from = move(s, c)
  record(s.journal, verdict, from, c.number, between, reason, c.terms.node, c.revision, blocker or '')
  s.spent = c.owner .. '|' .. kind .. '|0'
  return reply(s, kind, '', from)
end

local function supersede(s)
  for _, r in ipairs(runs(s)) do
    if r.state == 'w' and r.start == '' then
      r.state = 'l'
      push(s.journal, line('u', r.number, r.number, '', '', node(r.owner), '', r.fence, ''))
      s.settled = s.settled .. '+' .. r.number .. '|' .. r.fence .. '|0|u'
    end
  end
  prune(s)
end

-- wait records that the number must run after h.
local function wait(s, c, h)
  local about = text(h)
  if c.terms.overlap == REPLACE and h.start == '' then h.must = cancelled(h) and '3' or '1' end
  supersede(s)
  local from, fence = move(s, c), nextfence(s, c.seen)
  push(s.journal, line('w', from, c.number, c.between, '', c.terms.node, c.revision, fence, '') .. blocked(h))
  s.spent = c.owner .. '|w|' .. fence
  local r = waiting(c)
  r.fence = fence
  s.runs[#s.runs + 1] = r
  return reply(s, 'w', about, from, fence)
end

-- fresh decides a number above the mark.
local function fresh(s, c)
  local h = not s.quiet and lively(s)
  local free = not s.paused and (not h or c.terms.overlap == ALLOW)
  local former = c.terms.late == 'respecified' -- its spec is no longer in force
  local skip = c.number == s.skip
  if c.n > ms and (former or skip or not free) then return reply(s, 'e') end
  if s.paused then return spend(s, c, 'z', 'p', 'p', former and 'respecified' or '') end
  if skip then return spend(s, c, 'k', 's', c.between, 'operator') end
  if former or ms - c.n > c.terms.deadline then return spend(s, c, 'm', 'm', c.between, c.terms.late) end
  if free then return grant(s, c) end
  if c.terms.backlog then return reply(s, 'h', text(h)) end
  if c.terms.overlap ~= SKIP then return wait(s, c, h) end
  -- The number was due before that run, or goes before a backfill.
  if tonumber(h.granted) > c.n or h.work ~= '' then return reply(s, 'h', text(h)) end
  return spend(s, c, 's', 's', c.between, 'overlap', blocked(h))
end

-- blocker returns an alive run beside r that must end before r can be granted.
local function blocker(s, c, r)
  if c.terms.overlap == ALLOW and (r.start ~= '' or r.state ~= 'w') then return end
  local h = lively(s)
  if h and h.number ~= r.number then return h end
end

-- sweep settles runs that are over and may not run again, and returns a run that may. A run that
-- may run again, but only after the end of an alive run, is left as it is: the claim is judged by
-- the alive run. So are a sharded run while one of its shards runs, whether others may start or not, a
-- manual run that has not started, and a run of a backfill, because a number of the spec goes first. The
-- sheet is swept before all: a waiting number, wherever it stands, waits for its run no longer if no shard
-- of that may start any more.
local function sweep(s, c)
  local divided = unsettled(s)
  if divided then sheets().sweep(s, divided, c) end
  for _, r in ipairs(runs(s)) do
    if sharded(r) then
      if not sheets().leased(s, r) and sheets().survey(s, r, c).free > 0 then return r end
    elseif over(s, r) then
      if bars(s, r) or not mayrun(r, c) then
        settle(s, r)
      elseif not pending(r) and r.work == '' and not blocker(s, c, r) then
        return r
      end
    end
  end
end

-- repeats returns a run that is over and goes before a number that waits, because it may run again. Without it such a run would
-- wait for ever while numbers wait all the time.
local function repeats(s, c)
  for _, r in ipairs(runs(s)) do
    if r.state ~= 'w' and not pending(r) and r.work == '' and not sharded(r) and over(s, r) and not bars(s, r) and mayrun(r, c) then
      return r
    end
  end
end

-- yields reports whether a run of a backfill leaves the time up to the next number of the spec to that
-- number.
local function yields(c, r)
  if r.work == '' or c.terms.overlap == ALLOW then return false end
  local away = reads(c.after) - ms
  return away > 0 and away <= reads(r.room)
end

-- takeover judges the run itself: it does not consult the mark. It first settles the shards of another number that may
-- not start any more, so that the run waits for those alone that do.
local function takeover(s, c, about)
  local r = run(s, c.number)
  if not r or r.fence ~= c.from or r.state == 'd' or r.state == 'l' then return passed(s, c.number, about) end
  local divided = unsettled(s)
  if divided == r then
    if not c.terms.sharding then return passed(s, c.number, about) end
    return sheets().share(s, r, c)
  end
  if divided then sheets().sweep(s, divided, c) end
  local ended, h = over(s, r), blocker(s, c, r)
  if not ended and r.state ~= 'w' then return passed(s, c.number, about) end
  if ended and (bars(s, r) or not mayrun(r, c)) then
    settle(s, r)
    return passed(s, c.number, text(r))
  end
  if h then return reply(s, 'h', text(h)) end
  h = r.state == 'w' and r.start == '' and repeats(s, c)
  if h then return reply(s, 'O', text(h)) end
  if yields(c, r) then return reply(s, 'y') end
  return grant(s, c, r)
end

local function decide(s, c, about)
  if c.from ~= '0' then return takeover(s, c, about) end
  if about ~= '' then return sheets().share(s, run(s, c.number), c) end
  if tonumber(s.mark) < tonumber(c.after) then return reply(s, 'G') end
  s.quiet = not find(s.text, '|[obuw]|') -- all runs are settled
  local orphan = not s.quiet and sweep(s, c)
  if orphan then
    if sharded(orphan) then sheets().describe(s, orphan, c, {}) end
    return reply(s, 'O', text(orphan))
  end
  return fresh(s, c)
end

-- save writes the fields that a claim can change. Keys are kept while the mark moves. The write of
-- the state is the last step that can fail, so a claim that is answered with an error was not
-- granted.
local function save(s, before)
  if floor(before / DAY) ~= floor(tonumber(s.mark) / DAY) then
    call('PEXPIRE', s.key, LIFE)
    call('PEXPIRE', s.journal, LIFE)
    call('PEXPIRE', s.sheetkey, LIFE)
    call('PEXPIRE', KEYS[2], LIFE)
    call('PEXPIRE', KEYS[3], LIFE)
  end
  if s.sheet or s.dropped then sheets().put(s) end
  if s.sum then put(s, 'l', s.last) end
  put(s, 'm', s.mark, 'b', s.by, 'f', s.fence, 's', s.spent, 'r', packed(s))
end

local function judge(s, i)
  local at = 8 * i - 6
  local owner, number, from, seen, t = ARGV[at + 1], ARGV[at + 2], ARGV[at + 4], ARGV[at + 5], terms(ARGV[at + 8])
  local mark, n, about = tonumber(s.mark), tonumber(number), ''
  if mark == 0 then return reply(s, 'u') end
  local furthest = t.sharding and FURTHEST_SHARDED or FURTHEST
  if beyond(s.fence, furthest) then return reply(s, 'f', '', '0', s.fence) end
  if beyond(seen, furthest) then return reply(s, 'f', '', '0', seen) end
  if n <= mark or find(s.text, ';' .. number .. '|', 1, true) then -- only manual runs are above the mark
    about = stored(s, number)
    local same = again(s, about, owner, number, t)
    if same then return same end
  end
  if ms > t.latest then return reply(s, 'x') end
  if n > ms + TOLERANCE and (about == '' or run(s, number).start == '') then return reply(s, 'e') end
  if mark > ms + TOLERANCE then return reply(s, 'a') end
  if s.pause > 0 and lapse(s) then
    s.dirty = true
    call('HSET', s.key, 'p', packedpause(s))
  end
  local answer
  if from == '0' and (n <= tonumber(s.mark) or about ~= '') and not (t.sharding and find(about, '^;%d+|o|.*%*')) then
    answer = passed(s, number, about)
  else
    answer = decide(s, {
      owner = owner, number = number, n = n, after = ARGV[at + 3], from = from, seen = seen,
      between = ARGV[at + 6], revision = ARGV[at + 7], terms = t,
    }, about)
  end
  if s.rest and refill(s) then s.dirty = true end
  if s.dirty then save(s, mark) end
  return answer
end

local function claim(i)
  local s = read(KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3])
  local answer = judge(s, i)
  if not s.shares and not s.sum then return answer end
  return answer .. '#' .. (s.shares or '0|0|0#') .. '#' .. (s.sum or '')
end

return verdicts((#KEYS - 3) / 3, claim)
