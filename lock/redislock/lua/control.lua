-- control makes a change of a series for an operator: it changes the state, writes a line
-- into the journal and appends a record to the audit of the partition.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition by their last change: see journal.lua
-- KEYS[4]  the state
-- KEYS[5]  the journal
-- KEYS[6]  the sheet
-- KEYS[7]  the audit of the partition, a list of
--          number|µs|who|action|series|change|before|after|reason|op
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have
-- ARGV[3]  the channel on which requests and cancels of runs are published
-- ARGV[4]  action · op · digest of the body · the change that the caller has seen, -1 for any ·
--          who · reason · until, or 0 · the series · how many records an audit may have ·
--          how many ops a state may have · the latest number that was due before, or 0 · its revision ·
--          of a cancel: the number of the run, and its fence, or 0 for any; of a skip: the number ·
--          of a run: the overlap, and of a run or a backfill 1 if it may start in a pause · how many may be
--          requested · of a backfill: the rest as it is stored, or nothing to end one, its last number,
--          and how many numbers it has · of a run or a backfill: its scope for the audit, or nothing
-- returns  lines: the store's µs, then kind|refusal|change|audit|number of a run that it made, #, the latest change, #, and
--          the series: 0||mark|fence|last|pause, its runs and its sheet
-- kinds    d done, r repeated, n refused
--
-- Two fields of the state are only read here: k is the latest change "action|op|who|reason|ms", and o
-- the ops that were made, each ";op|digest|change|audit".

-- include: state.lua
-- include: journal.lua

function makesheets()
-- include: sheet.lua
-- include: sum.lua
  return { leased = leased, put = putsheet, clear = clearsheet, listed = listed }
end

local channel, action, op, body, seen = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local who, reason, till, name = ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local MOST, KEPT, due, revision = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14], ARGV[15]
local number, fence, overlap, anyway, MANY_REQUESTED = ARGV[16], ARGV[17], ARGV[18], ARGV[19] == '1', tonumber(ARGV[20])
local rest, highest, count, scope = ARGV[21], ARGV[22], ARGV[23], ARGV[24]
local SKIP, REPLACE = '0', '3'

local function answer(s, kind, refusal, change, audit, requested)
  return kind .. '|' .. refusal .. '|' .. change .. '|' .. audit .. '|' .. (requested or '0') .. '#' .. s.latest .. '#' .. series(s)
end

local function refused(s, why) return answer(s, 'n', why, '0', '0') end

-- made returns the change and the audit number of an op that was made, or false if it was made with
-- another body.
local function made(s)
  local digest, change, audit = match(s.ops, ';' .. string.gsub(op, '%p', '%%%0') .. '|(%x*)|(%d+)|(%d+)')
  if not digest then return end
  if digest ~= body then return false end
  return change, audit
end

-- condition returns the state of a series for the audit.
local function condition(s)
  if not s.paused then return 'running' end
  if s.till == RETIRED then return 'retired' end
  return (s.till or '') == '' and 'paused' or 'paused until ' .. s.till
end

-- startable reports whether a run is manual and may still start.
local function startable(s, r) return pending(r) and not cancelled(r) and not bars(s, r) and ms <= tonumber(r.start) end

-- requested returns how many manual runs may still start. It leaves out the runs of a backfill.
local function requested(s)
  local n = 0
  for _, r in ipairs(runs(s)) do
    if r.work == '' and startable(s, r) then n = n + 1 end
  end
  return n
end

local function scoped(text) return scope == '' and text or text .. ': ' .. scope end

-- after returns the state of a series after the change, for the audit.
local function after(s)
  if action == 'cancel' then return 'cancelled ' .. number end
  if action == 'skip' then return 'skip ' .. number end
  if action == 'run' then return scoped('run ' .. s.manual) end
  if action == 'backfill' then return scoped('backfill of ' .. count) end
  return condition(s)
end

-- clear settles the runs that are over, but no manual run that may still start. The sheet goes first,
-- because numbers may wait for its run.
local function clear(s)
  local divided = unsettled(s)
  if divided then sheets().clear(s, divided) end
  for _, r in ipairs(runs(s)) do
    if not sharded(r) and over(s, r) and not startable(s, r) then settle(s, r) end
  end
  prune(s)
end

-- held reports whether a lease is alive, of a run or of a shard.
local function held(s)
  for _, r in ipairs(runs(s)) do
    if sharded(r) and sheets().leased(s, r) or not sharded(r) and alive(r) then return true end
  end
  return false
end

-- unfit returns why a manual run is refused.
local function unfit(s)
  local n = requested(s)
  if s.paused and (not anyway or s.till == RETIRED) then return 'paused' end
  if overlap == SKIP and (lively(s) or n > 0) then return 'alive' end
  if n >= MANY_REQUESTED then return 'full' end
end

-- nextfence is the one of a claim by a caller that has seen no fence.
local function nextfence(s)
  local fence = max(tonumber(s.fence) + 1, us)
  if fence > us + 86400000000 then error('the last fence is more than a day ahead') end
  s.fence = int(fence)
  return s.fence
end

-- request records a manual run.
local function request(s, fence)
  local h = lively(s)
  if h and overlap == REPLACE and h.start == '' then h.must = cancelled(h) and '3' or '1' end
  prune(s)
  waits(s, fence, till, '', '')
end

-- unfilled returns why a backfill, or its end, is refused.
local function unfilled(s)
  local r = backfilling(s)
  if rest == '' then return s.rest == '' and not (r and pending(r) and not cancelled(r)) and 'over' end
  if s.paused and (not anyway or s.till == RETIRED) then return 'paused' end
  if r or s.rest ~= '' then return 'full' end
  if tonumber(highest) > tonumber(s.mark) then return 'undecided' end
end

-- endbackfill deletes the numbers that have no run yet, and cancels the run that waits.
local function endbackfill(s)
  local r = backfilling(s)
  s.rest = ''
  if not r or not pending(r) then return end
  r.must = r.must == '1' and '3' or '2'
  settle(s, r)
end

-- resume settles the runs that are over and records (mark, now] as paused. The mark never goes
-- down.
local function resume(s)
  clear(s)
  cover(s, now)
  s.pause, s.till, s.paused, s.why = -math.abs(s.pause), '', false, nil
end

-- outage gives the numbers that were due before a pause, and that no node has decided, the verdict
-- missed. It first settles runs that are over, as a claim does.
local function outage(s)
  clear(s)
  record(s.journal, 'm', s.mark, due, 'm', 'misfire', '', revision, '')
  s.mark, s.by = due, ''
end

local function pause(s)
  s.pause, s.till, s.paused = math.abs(s.pause), till ~= '0' and till or '', true
  s.why = now .. '|' .. op .. '|' .. who .. '|' .. reason
end

-- named returns the run that a cancel names, or nil and a refusal.
local function named(s)
  local r = run(s, number)
  if not r or r.state == 'd' or r.state == 'l' then return nil, 'over' end
  if fence ~= '0' and r.fence ~= fence then return nil, 'fence' end
  if cancelled(r) then return nil, 'cancelled' end
  return r
end

-- cancel marks a run as cancelled: the holder of an alive run ends it, and all other runs are
-- settled.
local function cancel(s, r)
  r.must = r.must == '1' and '3' or '2'
  if sharded(r) then
    sheets().clear(s, r)
  elseif not alive(r) then
    settle(s, r)
  end
end

-- following returns the number of the next record.
local function following()
  local last = call('LINDEX', KEYS[7], -1)
  if not last then return '1' end
  local number = match(last, '^(%d+)|')
  if not number then error('an audit record in an unknown format') end
  return int(number + 1)
end

-- remember stores the op, and as many before it as it may.
local function remember(s, change, audit)
  s.ops = s.ops .. ';' .. op .. '|' .. body .. '|' .. change .. '|' .. audit
  local _, n = string.gsub(s.ops, ';', '')
  if n > KEPT then s.ops = match(s.ops, '^;[^;]*(;.*)$') end
end

-- append appends a record. Its number is one more than the number of the newest record.
local function append(audit, change, before, after)
  local n = call('RPUSH', KEYS[7], audit .. '|' .. instant .. '|' .. who .. '|' .. action .. '|' .. name .. '|' .. change
    .. '|' .. before .. '|' .. after .. '|' .. reason .. '|' .. op)
  if n > MOST then call('LPOP', KEYS[7], n - MOST) end
  call('PEXPIRE', KEYS[7], LIFE)
end

local function control()
  local s = read(KEYS[4], KEYS[5], KEYS[6])
  local h = call('HMGET', s.key, 'k', 'o', 'c', 'n')
  s.latest, s.ops, s.manual, s.rest = h[1] or '||||0', h[2] or '', h[4] or '0', s.rest or ''
  if s.pause > 0 then s.why = h[3] end
  if s.mark == '0' then return refused(s, 'not-open') end
  local change, audit = made(s)
  if change then return answer(s, 'r', '', change, audit) end
  if change == false then return refused(s, 'op-used') end
  call('PEXPIRE', s.key, LIFE)
  local before = condition(s)
  if lapse(s) then call('HSET', s.key, 'm', s.mark, 'b', s.by, 'p', packedpause(s)) end
  if seen >= 0 and seen ~= math.abs(s.pause) then return refused(s, 'changed') end
  if action == 'resume' and not s.paused then return refused(s, 'not-paused') end
  if till ~= '0' and tonumber(till) <= ms then return refused(s, 'past') end
  if action == 'retire' and (held(s) or requested(s) > 0) then return refused(s, 'alive') end
  if action == 'skip' and number ~= '0' and tonumber(number) <= tonumber(s.mark) then return refused(s, 'over') end
  local target, refusal
  if action == 'cancel' then
    target, refusal = named(s)
    if not target then return refused(s, refusal) end
  end
  if action == 'run' then
    refusal = unfit(s)
    if refusal then return refused(s, refusal) end
    target = { fence = nextfence(s), attempt = '' }
  end
  if action == 'backfill' then
    refusal = unfilled(s)
    if refusal then return refused(s, refusal) end
  end
  audit, change = following(), int(math.abs(s.pause) + 1) -- fails before the first line is written
  if action == 'cancel' then cancel(s, target) end
  if not s.paused and tonumber(s.mark) < tonumber(due) and tonumber(due) <= ms then outage(s) end
  if action == 'backfill' or action == 'pause' or action == 'retire' then endbackfill(s) end
  if action == 'retire' then
    clear(s)
    till = RETIRED
  end
  if action == 'resume' then resume(s) end
  if action == 'skip' then s.skip = number ~= '0' and number or '' end
  if action == 'backfill' then s.rest = rest end
  if action == 'pause' or action == 'retire' then pause(s) end
  s.pause = s.paused and tonumber(change) or -tonumber(change)
  s.latest = action .. '|' .. op .. '|' .. who .. '|' .. reason .. '|' .. now
  remember(s, change, audit)
  push(s.journal, controlled(s, action, who, change, audit, target))
  if action == 'run' then request(s, target.fence) end
  append(audit, change, before, after(s))
  local filled = refill(s)
  if s.sheet or s.dropped then sheets().put(s) end
  put(s, 'm', s.mark, 'b', s.by, 'f', s.fence, 'l', s.last, 'p', packedpause(s), 'c', s.why or '', 'k', s.latest, 'o', s.ops, 'r', packed(s))
  if target or filled then redis.pcall('PUBLISH', channel, name) end
  return answer(s, 'd', '', change, audit, (filled or action == 'run') and s.manual)
end

return verdicts(1, control)
