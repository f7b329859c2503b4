-- The second part of the scripts that write verdicts: the journal, a list of
--   at|verdict|from|to|between|reason|node|revision|fence|attempt|outcome|ended|error|blocker
-- where the blocker is the run in the way, "number+fence", or nothing; of c it is
-- "change+number in the audit"; with the verdicts c control, o opened, r ran, e ended, s skipped, w waiting,
-- u superseded, m missed, p paused, l lost.
--
-- KEYS[2]  the bytes of all journals of the shard
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the shard may have

local LINES, BYTES = tonumber(ARGV[1]), tonumber(ARGV[2])
local OVERHEAD = 4 -- bytes that a list keeps beside a line

local grown = 0   -- bytes
local pushed = {} -- the journal of each new line

local function drop(j, n)
  for _, line in ipairs(call('LPOP', j, n)) do grown = grown - #line - OVERHEAD end
end

-- push appends a line. A journal over its length gives a batch of old lines, so
-- that not every line costs a call.
local function push(j, line)
  local n = call('RPUSH', j, line)
  grown = grown + #line + OVERHEAD
  pushed[#pushed + 1] = j
  if n > LINES then drop(j, n - LINES + floor(LINES / 16)) end
end

local function replace(j, old, new)
  call('LSET', j, -1, new)
  grown = grown + #new - #old
end

-- line has neither an end nor a blocker: what is written behind it is the blocker.
local function line(verdict, from, to, between, reason, who, revision, fence, attempt)
  return now .. '|' .. verdict .. '|' .. from .. '|' .. to .. '|' .. between .. '|' .. reason .. '|' .. who
    .. '|' .. revision .. '|' .. fence .. '|' .. attempt .. '||||'
end

local function blocked(r) return r.number .. '+' .. r.fence end

-- settle gives a run that is over its end. What never started is not lost, and in a pause it is
-- the pause that keeps it from starting.
local function settle(s, r)
  local verdict, reason = 'l', 'lost'
  if r.attempt == '0' then
    verdict, reason = 'm', 'deadline'
    if s.paused then verdict, reason = 'p', '' end
    if r.replaced == '1' then verdict, reason = 'u', '' end
  end
  r.state = 'l'
  push(s.journal, line(verdict, r.number, r.number, '', reason, node(r.owner), '', r.fence, r.attempt))
  s.settled = s.settled .. '+' .. r.number .. '|' .. r.fence .. '|' .. r.attempt .. '|' .. verdict
  s.dirty = true
end

local LINE = '^%d+|(%a)|(%d+)|(%d+)|(%a?)|([^|]*)|[^|]*|([^|]*)(|%d*|%d*|[^|]*|%d*|[^|]*|[^|]*)$'

-- extended is the line old made longer by the numbers in (from, to], if both
-- say the same of theirs; else nil.
local function extended(old, verdict, from, to, between, reason, who, revision, blocker)
  local v, first, last, b, why, rev, rest = match(old, LINE)
  if v ~= verdict or why ~= reason or rev ~= revision or rest ~= '||||||' .. blocker then return end
  if last ~= from or tonumber(from) >= tonumber(to) or tonumber(first) >= tonumber(last) then return end
  if (between ~= '' and verdict ~= 'p') or (b ~= '' and b ~= v) then return end
  return now .. '|' .. v .. '|' .. first .. '|' .. to .. '|' .. v .. '|' .. why .. '|' .. who .. '|' .. rev .. rest
end

-- record appends the verdict of (from, to], or makes the last line longer.
local function record(j, verdict, from, to, between, reason, who, revision, blocker)
  local old = call('LINDEX', j, -1)
  local new = old and extended(old, verdict, from, to, between, reason, who, revision, blocker)
  if new then
    replace(j, old, new)
  else
    push(j, line(verdict, from, to, between, reason, who, revision, '', '') .. blocker)
  end
end

-- cover gives the numbers after the mark, up to last, the verdict paused.
local function cover(s, last)
  if tonumber(last) <= tonumber(s.mark) then return end
  record(s.journal, 'p', s.mark, last, 'p', '', '', '', '')
  s.mark, s.by = last, ''
end

-- controlled is the line of a change by an operator, or of one by the store itself.
local function controlled(s, action, who, change, audit)
  return line('c', s.mark, s.mark, '', action, who, '', '', '') .. change .. '+' .. audit
end

-- lapse ends a pause whose end has passed: (mark, end] is paused, and what comes later is
-- judged as if there had been no pause. It reports whether there was one.
local function lapse(s)
  if s.pause <= 0 or s.paused then return false end
  cover(s, s.till)
  push(s.journal, controlled(s, 'until', '', int(s.pause), '0'))
  s.pause, s.till, s.why = -s.pause, '', nil
  return true
end

-- bytes is what a step on the counter returns, or nothing if that is no number: then it is
-- written anew as one that the next open counts again. So a counter that was tampered with
-- stops no series.
local function bytes(command, ...)
  local n = redis.pcall(command, KEYS[2], ...)
  n = type(n) ~= 'table' and tonumber(n or '0') or nil
  if not n then call('SET', KEYS[2], '-1', 'PX', LIFE) end
  return n
end

-- full: the journals of the shard have all the bytes that they may have.
local function full() return (bytes('GET') or 0) + grown >= BYTES end

-- weigh counts the bytes that were written. Over the shard's bytes each new line
-- costs its own series two old ones, but never the newest.
local function weigh()
  if (bytes('INCRBY', int(grown)) or 0) <= BYTES then return end
  grown = 0
  for _, j in ipairs(pushed) do
    local n = call('LLEN', j)
    if n > 1 then drop(j, math.min(2, n - 1)) end
  end
  bytes('INCRBY', int(grown))
end

-- verdicts is answers, with the bytes counted. Only prove can fail as a whole, when nothing was
-- written: else a count that fails would take the answers away.
local function verdicts(n, step)
  local out = ask(n, step)
  if grown ~= 0 then pcall(weigh) else prove() end
  return table.concat(out, '\n')
end
