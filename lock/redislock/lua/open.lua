-- open registers series and reads them. Only it creates a mark: the later of
-- the store's now and the highest mark that the node has seen.
--
-- KEYS[1]  a key that never exists: the write to it proves a master
-- KEYS[2]  the bytes of all journals of the shard
-- KEYS[3]  the set of all series of the shard
-- KEYS[4]  the audit of the shard, which lives as long as nodes open series
-- then for each series
--   KEYS   the state, the journal, the revisions
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the shard may have
-- then for each series
--   ARGV   name · node · revision · zone · policies · spec · mark
-- returns  lines: the store's µs, for each series since|other|mark|fence|last|pause
--          and its runs as they are stored, then the bytes of all journals
--
-- A revision is kept as first|last|node|zone|policies|spec; one that is not is passed over.
-- A series is in the set before its state is read, so that one which cannot be read is known.
-- The expiry of the set before the first other write lets a node start on a store that is full.

-- include: state.lua
-- include: journal.lua

local REVISIONS = 32 -- how many of a series are kept
local SCANNED = 200  -- how many are read, about: there are more if they were tampered with

-- kept reads the revisions, revision among them: name, value, name, value ... A user that
-- was made for an earlier version may not scan.
local function kept(revisions, revision)
  local some = redis.pcall('HSCAN', revisions, 0, 'COUNT', SCANNED)
  if some.err then return call('HGETALL', revisions) end
  local all, found = some[2], false
  for i = 1, #all, 2 do found = found or all[i] == revision end
  local mine = not found and call('HMGET', revisions, revision)[1]
  if mine then
    all[#all + 1] = revision
    all[#all + 1] = mine
  end
  return all
end

-- forget makes room for one more: those go that were seen longest ago, and before them what
-- cannot be read.
local function forget(revisions, all)
  local names, last = {}, {}
  for i = 1, #all, 2 do
    names[#names + 1] = all[i]
    last[all[i]] = tonumber(match(all[i + 1], '^%d+|(%d+)') or 0)
  end
  table.sort(names, function(a, b) return last[a] < last[b] end)
  call('HDEL', revisions, unpack(names, 1, math.min(#names - REVISIONS + 1, 4000)))
end

-- sighted records that node uses revision now. It returns when the spec was seen
-- first, by its text and zone, whatever it meant then; and another revision that
-- another node has used since this one was seen first.
local function sighted(revisions, who, revision, zone, policies, spec)
  if revision == '' then return '0', '' end
  local all, known, first = kept(revisions, revision), false, now
  for i = 1, #all, 2 do
    if all[i] == revision then known, first = true, match(all[i + 1], '^%d+') or now end
  end
  local since, other, latest = first, '', tonumber(first)
  for i = 1, #all, 2 do
    local begun, last, user, place, meant = match(all[i + 1], '^(%d+)|(%d+)|([^|]*)|([^|]*)|[^|]*|(.*)$')
    local same = begun and spec ~= '' and meant == spec and place == zone
    if same and tonumber(begun) < tonumber(since) then since = begun end
    if begun and all[i] ~= revision and user ~= who and tonumber(last) >= latest then
      other, latest = all[i], tonumber(last)
    end
  end
  if not known and #all >= 2 * REVISIONS then forget(revisions, all) end
  call('HSET', revisions, revision, first .. '|' .. now .. '|' .. who .. '|' .. zone .. '|' .. policies .. '|' .. spec)
  return since, other
end

-- enter adds a series to the set of all. A key of another type in its place is deleted: it
-- would stop every series of the shard, and those that are opened enter the set again.
local function enter(name)
  local added = redis.pcall('SADD', KEYS[3], name)
  if type(added) == 'number' then return end
  if not find(added.err, 'WRONGTYPE', 1, true) then error(added) end
  call('DEL', KEYS[3])
  call('SADD', KEYS[3], name)
end

local function open(i)
  local at = 7 * i - 5
  local name, who, revision = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  enter(name)
  local s, revisions = read(KEYS[3 * i + 2], KEYS[3 * i + 3]), KEYS[3 * i + 4]
  call('PEXPIRE', s.key, LIFE)
  if s.mark == '0' then
    s.mark = int(math.max(ms, tonumber(ARGV[at + 7])))
    push(s.journal, line('o', s.mark, s.mark, '', '', who, revision, '', ''))
    call('HSET', s.key, 'm', s.mark)
    call('PEXPIRE', s.key, LIFE)
  end
  local since, other = sighted(revisions, who, revision, ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
  call('PEXPIRE', s.journal, LIFE)
  call('PEXPIRE', revisions, LIFE)
  return series(s, since, other)
end

call('PEXPIRE', KEYS[3], LIFE)
local out = verdicts((#KEYS - 4) / 3, open)
call('PEXPIRE', KEYS[2], LIFE)
call('PEXPIRE', KEYS[3], LIFE)
call('PEXPIRE', KEYS[4], LIFE)
return out .. '\n' .. int(bytes('GET') or -1)
