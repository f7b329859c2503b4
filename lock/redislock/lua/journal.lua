-- The second part of the scripts that write verdicts: the journal, a list of
--   at|verdict|from|to|between|reason|node|revision|fence|attempt|outcome|ended|error|blocker
-- and of a sharded run |shards behind it, and with the end |sheet: see Sheet.text of the package series,
-- where the blocker is the run that blocks the number, "number+fence", or nothing; in a line of
-- the verdict c it is "change+number in the audit", and of w of a run of a backfill "for+0". The verdicts are c control, o opened, r ran,
-- e ended, s skipped, w waiting, u superseded, m missed, p paused, l lost.
-- Before the lines are the exceptions that outlived their neighbours, each with an x before its
-- text. A - before the first text means that older exceptions were deleted.
--
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition, each with the store's µs of the last step that changed it
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have

local LINES, BYTES = tonumber(ARGV[1]), tonumber(ARGV[2])
local OVERHEAD = 4 -- bytes that a list needs beside a line

local grown = 0   -- bytes
local pushed = {} -- the journal of each new line

local FAILED = { failed = true, panic = true, timeout = true, lost = true, cancelled = true }

-- reran reports whether a shard in the sheet of a line had another attempt: see Line.RerunShards. A line
-- without a sheet ends with a part that has no comma.
local function reran(text)
  for attempt in string.gmatch(';' .. match(text, '^.*|(.*)$'), ';[^,;]*,(%d+),') do
    if reads(attempt) > 1 then return true end
  end
  return false
end

-- exceptional is Line.Exception of the package series.
local function exceptional(text)
  local v, from, to, between, reason, attempt, outcome =
    match(text, '^%d+|(%a)|(%d+)|(%d+)|(%a?)|([^|]*)|[^|]*|[^|]*|%d*|(%d*)|([^|]*)')
  if v == 'l' or v == 'm' or v == 'p' then return true end
  if v == 's' then return reason == 'operator' or between == 's' and reads(to) - reads(from) >= 60000 end
  if v ~= 'r' and v ~= 'e' then return false end
  return FAILED[outcome] or attempt ~= '' and reads(attempt) > 1 or reran(text)
end

-- outlived returns how many exceptions are before the lines of a journal.
local function outlived(j, size)
  if not find(call('LINDEX', j, 0), '^-?x') then return 0 end
  local low, high = 1, size - 1 -- the newest line is none
  while low < high do
    local middle = floor((low + high) / 2)
    if find(call('LINDEX', j, middle), '^x') then low = middle + 1 else high = middle end
  end
  return low
end

local function pop(j, n)
  for _, text in ipairs(call('LPOP', j, n)) do grown = grown - #text - OVERHEAD end
end

-- leave takes the n oldest lines out of a journal. An exception stays where it is, and gets an x.
-- It returns how many left, how many stayed, and whether the first text had its mark.
local function leave(j, kept, n)
  local lines, left, stayed = call('LRANGE', j, kept, kept + n - 1), 0, 0
  local marked = kept == 0 and lines[1] and sub(lines[1], 1, 1) == '-'
  if marked then lines[1] = sub(lines[1], 2) end
  if kept == 0 then -- mostly there are no exceptions
    while lines[left + 1] and not exceptional(lines[left + 1]) do left = left + 1 end
    if left > 0 then pop(j, left) end
  end
  if marked and left == 0 and lines[1] then grown = grown - 1 end -- the exception loses its mark
  for i = left + 1, #lines do
    local text = lines[i]
    if exceptional(text) then
      call('LSET', j, kept + stayed, 'x' .. text)
      grown = grown + 1
      stayed = stayed + 1
    else
      call('LREM', j, 1, text)
      grown = grown - #text - OVERHEAD
      left = left + 1
    end
  end
  return left, stayed, marked
end

-- shrink deletes the oldest lines until a journal has no more than most, but never the newest. An
-- exception is deleted once more than a fifth of the journal are exceptions.
local function shrink(j, size, most)
  local kept, deleted = outlived(j, size), false
  while size > most do
    local left, stayed, marked = leave(j, kept, math.min(size - most, size - kept - 1))
    size, kept, deleted = size - left, kept + stayed, deleted or marked
    local more = math.ceil((5 * kept - size) / 4) -- so that kept - more is a fifth of size - more
    if more > 0 then
      pop(j, more)
      size, kept, deleted = size - more, kept - more, true
    end
  end
  if not deleted then return end
  local first = call('LINDEX', j, 0)
  if sub(first, 1, 1) == '-' then return end
  call('LSET', j, 0, '-' .. first)
  grown = grown + 1
end

-- touch records that this step changed the series with a key. Each step that changes a state writes
-- a line, so push and replace call it. The renewal of a run is no such step.
local touched = {} -- the arguments of one ZADD
local function touch(key)
  local name = sub(key, #KEYS[3] + 1) -- "ch" is as long as "j:" and "d:"
  if touched[name] then return end
  touched[name] = true
  touched[#touched + 1] = instant
  touched[#touched + 1] = name
end

-- push appends a line. A journal that is too long loses many old lines at once, so that not every
-- line costs a call.
local function push(j, line)
  local n = call('RPUSH', j, line)
  grown = grown + #line + OVERHEAD
  pushed[#pushed + 1] = j
  touch(j)
  if n > LINES then shrink(j, n, LINES - floor(LINES / 16)) end
end

local function replace(j, old, new)
  if sub(old, 1, 1) == '-' and sub(new, 1, 1) ~= '-' then new = '-' .. new end
  call('LSET', j, -1, new)
  touch(j)
  grown = grown + #new - #old
end

-- line returns a line without an end and without a blocker; the caller may append the blocker.
local function line(verdict, from, to, between, reason, who, revision, fence, attempt)
  return now .. '|' .. verdict .. '|' .. from .. '|' .. to .. '|' .. between .. '|' .. reason .. '|' .. who
    .. '|' .. revision .. '|' .. fence .. '|' .. attempt .. '||||'
end

local function blocked(r) return r.number .. '+' .. r.fence end

-- lastverdict returns the final verdict of a run that is over, or of a shard of it, with its attempt. A run
-- that never started is not lost; in a pause its verdict is paused, because the pause keeps it from starting.
local function lastverdict(s, r, attempt)
  local verdict, reason = 'l', 'lost'
  if attempt == '0' then
    verdict, reason = 'm', 'deadline'
    if bars(s, r) then verdict, reason = 'p', '' end
    if r.must == '1' then verdict, reason = 'u', '' end
    if cancelled(r) then verdict = 'u' end
  end
  if cancelled(r) then reason = 'cancelled' end
  return verdict, reason
end

local function settle(s, r)
  local verdict, reason = lastverdict(s, r, r.attempt)
  r.state = 'l'
  push(s.journal, line(verdict, r.number, r.number, '', reason, node(r.owner), '', r.fence, r.attempt))
  s.settled = s.settled .. '+' .. r.number .. '|' .. r.fence .. '|' .. r.attempt .. '|' .. verdict
  s.dirty = true
end

-- waits records a manual run, with the next manual number: no whole second.
local function waits(s, fence, start, work, room)
  s.manual = s.manual or call('HMGET', s.key, 'n')[1] or '0'
  local n = max(ms, tonumber(s.manual) + 1)
  while n % 1000 == 0 or run(s, int(n)) do n = n + 1 end
  s.manual = int(n)
  local r = {
    number = s.manual, state = 'w', owner = '', fence = fence,
    attempt = '0', granted = now, till = '0', must = '0', start = start, work = work, room = room, shards = '',
  }
  s.runs[#s.runs + 1] = r
  push(s.journal, line('w', r.number, r.number, '', '', '', '', fence, '') .. (work == '' and '' or work .. '+0'))
end

-- refill makes the next run of a backfill once the run before it is settled, and reports whether it
-- made one. The caller writes the state after it, with put.
local function refill(s)
  if not s.rest or s.rest == '' or backfilling(s) then return false end
  local fence = max(tonumber(s.fence) + 1, us)
  if fence > us + 86400000000 then return false end
  local room, first, rest = match(s.rest, '^(%d+)|(%d+),?(.*)$')
  if not room then error('a backfill in an unknown format') end
  s.fence, s.rest = int(fence), ''
  if rest ~= '' then
    local distance, others = match(rest, '^(%d+)(.*)$')
    s.rest = room .. '|' .. int(reads(first) + reads(distance)) .. others
  end
  waits(s, s.fence, RETIRED, int(reads(first) * 1000), room)
  return true
end

-- put writes fields of a state, and the rest of the backfill if this step can have changed it.
local function put(s, ...)
  if s.manual then
    call('HSET', s.key, 'q', s.rest or '', 'n', s.manual, ...)
  else
    call('HSET', s.key, ...)
  end
end

local LINE = '^%-?%d+|(%a)|(%d+)|(%d+)|(%a?)|([^|]*)|[^|]*|([^|]*)(|%d*|%d*|[^|]*|%d*|[^|]*|[^|]*)$'

-- extended returns the line old, made longer by the numbers in (from, to], if all the numbers have
-- the same verdict; else nil.
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

-- cover records the numbers after the mark, up to last, as paused.
local function cover(s, last)
  if tonumber(last) <= tonumber(s.mark) then return end
  record(s.journal, 'p', s.mark, last, 'p', '', '', '', '')
  s.mark, s.by = last, ''
end

-- controlled returns the line of a change by an operator, or by the store itself. Of a cancel, and of
-- a request for a run, r is the run.
local function controlled(s, action, who, change, audit, r)
  return line('c', s.mark, s.mark, '', action, who, '', r and r.fence or '', r and r.attempt or '') .. change .. '+' .. audit
end

-- lapse ends a pause whose end has passed: (mark, end] is recorded as paused, and later numbers are
-- judged as if there had been no pause. It reports whether it ended one.
local function lapse(s)
  if s.pause <= 0 or s.paused then return false end
  cover(s, s.till)
  push(s.journal, controlled(s, 'until', '', int(s.pause), '0'))
  s.pause, s.till, s.why = -s.pause, '', nil
  return true
end

-- bytes returns the result of a command on the counter. If that is no number, it returns nothing
-- and sets the counter to -1, which the next open recounts. So a counter that was tampered with
-- stops no series.
local function bytes(command, ...)
  local n = redis.pcall(command, KEYS[2], ...)
  n = type(n) ~= 'table' and reads(n or '0') or nil
  if not n then call('SET', KEYS[2], '-1', 'PX', LIFE) end
  return n
end

-- full reports whether the journals of the partition have all the bytes that they may have.
local function full() return (bytes('GET') or 0) + grown >= BYTES end

-- fitting returns the error's text, or a sheet, if there is room for it. In a full partition the series gives up two
-- old lines for the text; a series without two such lines keeps no text.
local function fitting(j, why)
  if why == '' or not full() then return why end
  if call('LLEN', j) <= 2 then return '' end
  pushed[#pushed + 1] = j
  return why
end

-- note writes the end of r into the line of its grant, if that is the last line: while r is open,
-- no other line has its fence. The end of a sharded run has its sheet in place of an error.
local function note(j, r, outcome, why, shards)
  local last, of = call('LINDEX', j, -1) or '', r.shards == '' and '' or '|' .. r.shards
  local tail = '|' .. r.fence .. '|' .. r.attempt .. '||||'
  local ending = outcome .. '|' .. now .. '|' .. fitting(j, why) .. '|' .. of .. (shards and '|' .. fitting(j, shards) or '')
  if sub(last, -#tail - #of) == tail .. of and match(last, '^%-?%d+|(%a)|') == 'r' then
    replace(j, last, sub(last, 1, -4 - #of) .. ending)
  else
    push(j, sub(line('e', r.number, r.number, '', '', node(r.owner), '', r.fence, r.attempt), 1, -4) .. ending)
  end
end

-- weigh counts the bytes that were written. If the partition has too many bytes, each new line deletes
-- two old ones of its own series.
local function weigh()
  if (bytes('INCRBY', int(grown)) or 0) <= BYTES then return end
  grown = 0
  for _, j in ipairs(pushed) do
    local n = call('LLEN', j)
    if n > 1 then shrink(j, n, max(1, n - 2)) end
  end
  bytes('INCRBY', int(grown))
end

-- publish writes what touch has recorded. A key of another type is deleted: the series that changed
-- before are found by the next reader that reads all. If all are new, the key may be new.
local function publish()
  local added = redis.pcall('ZADD', KEYS[3], unpack(touched))
  if type(added) == 'table' and find(added.err, 'WRONGTYPE', 1, true) then
    call('DEL', KEYS[3])
    added = call('ZADD', KEYS[3], unpack(touched))
  end
  if added == #touched / 2 then call('PEXPIRE', KEYS[3], LIFE) end
end

-- verdicts calls ask, records which series have changed, and counts the bytes. Only prove can fail
-- as a whole, when nothing was written: a record or a count that fails must not lose the answers.
local function verdicts(n, step)
  local out = ask(n, step)
  if #touched > 0 then pcall(publish) end
  if grown ~= 0 then pcall(weigh) else prove() end
  return table.concat(out, '\n')
end
