-- open registers series and reads them. Only open creates a mark: the later of the store's
-- now, or the begin if that is earlier, and the highest mark that the node has seen. It ends a
-- retirement.
--
-- KEYS[1]  a key that never exists: the write to it proves that this is a master
-- KEYS[2]  the bytes of all journals of the partition
-- KEYS[3]  the series of the partition by their last change: see journal.lua
-- KEYS[4]  the set of all series of the partition
-- KEYS[5]  the audit of the partition, which is kept as long as nodes open series
-- then for each series
--   KEYS   the state, the journal, the revisions, the sheet
-- ARGV[1]  how many lines a journal may have
-- ARGV[2]  how many bytes the journals of the partition may have
-- then for each series
--   ARGV   name · node · revision · zone · policies · spec · mark · the longest time in ms for
--          which the spec may not have been seen, while another was, without a break; 0: any time ·
--          the begin of a series that is new; 0: the store's now
-- returns  lines: the store's µs, for each series since|other|mark|fence|last|pause,
--          its stored runs and its sheet, and #name|value for each use of a former spec if numbers
--          after the mark may be undecided; then the bytes of all journals
--
-- A revision is stored as first|last|node|zone|policies|spec, where first may be "first,since":
-- since is the start of the time in which its spec has been in force without a break. A text of
-- another form is ignored. When a spec comes back, its earlier use is renamed to "revision|first".
-- A series enters the set before its state is read, so that a series that cannot be read is listed.
-- The expiry of the set, before the first other write, lets a node start on a store that is full.

-- include: state.lua
-- include: journal.lua

function makesheets()
-- include: sheet.lua
  return { leased = leased, listed = listed }
end

local REVISIONS = 32 -- how many revisions of a series are kept
local IN_USE = 120000 -- ms up to which a sighting shows that a node still uses a revision
local SCANNED = 200  -- about how many are read: there are more only if the key was tampered with

-- kept reads the revisions, revision among them: name, value, name, value ... A user that was
-- created for an earlier version may not scan.
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

-- forget makes room for one more revision. It deletes data that cannot be read first, and then the
-- revisions that were seen longest ago.
local function forget(revisions, all)
  local names, last = {}, {}
  for i = 1, #all, 2 do
    names[#names + 1] = all[i]
    last[all[i]] = tonumber(match(all[i + 1], '^[%d,]+|(%d+)') or 0)
  end
  table.sort(names, function(a, b) return last[a] < last[b] end)
  call('HDEL', revisions, unpack(names, 1, math.min(#names - REVISIONS + 1, 4000)))
end

local USE = '^(%d+),?(%d*)|(%d+)|([^|]*)|([^|]*)|[^|]*|(.*)$'

-- uses reads the revisions, and marks those that have the spec of the node.
local function uses(all, revision, zone, spec)
  local list = {}
  for i = 1, #all, 2 do
    local first, since, last, user, place, meant = match(all[i + 1], USE)
    if first then
      if since == '' then since = first end
      local name = match(all[i], '^[^|]*')
      list[#list + 1] = {
        name = all[i], text = all[i + 1], revision = name, first = first, since = since, node = user,
        begun = tonumber(since), last = tonumber(last), at = tonumber(first),
        same = name == revision or spec ~= '' and meant == spec and place == zone,
      }
    end
  end
  return list
end

-- force returns the start of the time in which the spec has been in force without a break, and
-- whether a break ends now.
local function force(list, unseen)
  local since, last
  for _, v in ipairs(list) do
    if v.same and (not since or v.begun > tonumber(since)) then
      since, last = v.since, v.last
    elseif v.same and v.since == since then
      last = max(last, v.last)
    end
  end
  if not since then return now, false end
  for _, v in ipairs(list) do
    if unseen > 0 and not v.same and v.last > last and ms - last > unseen then return now, true end
  end
  return since, false
end

-- former lists the uses of other specs, and of this one before a break, if numbers that one of them
-- has may be undecided: the mark is before this spec came into force, or before one was seen.
local function former(list, since, mark)
  local out, till = {}, 0
  for _, v in ipairs(list) do
    if not v.same or v.begun < since then
      out[#out + 1] = '#' .. v.name .. '|' .. v.text
      till = max(since, till, v.last)
    end
  end
  return mark < till and table.concat(out) or ''
end

-- sighted records that a node uses revision now. It returns the start of the time in which the spec
-- has been in force, by its text and zone; another revision that another node has used since this
-- one was first seen, and within IN_USE; and the former uses.
-- To see the revision that was seen last once more, with its policies, changes nothing for a reader.
local function sighted(revisions, who, revision, zone, policies, spec, mark, unseen, begin)
  if revision == '' then return '0', '', '' end
  local all = kept(revisions, revision)
  local list, known, first, other = uses(all, revision, zone, spec), false, now, ''
  local since, broken = force(list, unseen)
  local meant, mine = '|' .. zone .. '|' .. policies .. '|' .. spec, nil
  if #list == 0 and begin > 0 then since = int(math.min(ms, mark)) end
  for i = 1, #all, 2 do known = known or all[i] == revision end
  for _, v in ipairs(list) do
    if v.name == revision and not broken and v.since == since then
      first, mine = v.first, v
    elseif v.name == revision then -- its use is over
      call('HSET', revisions, revision .. '|' .. v.first, v.text)
      v.name, known = revision .. '|' .. v.first, #all < 2 * REVISIONS
    end
  end
  local latest, anew = max(tonumber(first), ms - IN_USE), not mine or sub(mine.text, -#meant) ~= meant
  for _, v in ipairs(list) do
    anew = anew or v ~= mine and v.last >= mine.last
    if v.revision ~= revision and v.node ~= who and v.last >= latest then other, latest = v.revision, v.last end
  end
  if not known and #all >= 2 * REVISIONS then forget(revisions, all) end
  local begun = first == since and first or first .. ',' .. since
  call('HSET', revisions, revision, begun .. '|' .. now .. '|' .. who .. meant)
  if anew then touch(revisions) end
  return since, other, former(list, tonumber(since), mark)
end

-- enter adds a series to the set of all series. It deletes a key of another type in place of the
-- set: that key would stop every series of the partition, and series that are opened enter the set
-- again.
local function enter(name)
  local added = redis.pcall('SADD', KEYS[4], name)
  if type(added) == 'number' then return end
  if not find(added.err, 'WRONGTYPE', 1, true) then error(added) end
  call('DEL', KEYS[4])
  call('SADD', KEYS[4], name)
end

local function open(i)
  local at = 9 * i - 7
  local name, who, revision = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  enter(name)
  local s, revisions = read(KEYS[4 * i + 2], KEYS[4 * i + 3], KEYS[4 * i + 5]), KEYS[4 * i + 4]
  call('PEXPIRE', s.key, LIFE)
  local begin = tonumber(ARGV[at + 9])
  if s.mark == '0' then
    s.mark = int(math.max(begin > 0 and math.min(ms, begin) or ms, tonumber(ARGV[at + 7])))
    push(s.journal, line('o', s.mark, s.mark, '', '', who, revision, '', ''))
    call('HSET', s.key, 'm', s.mark)
    call('PEXPIRE', s.key, LIFE)
  elseif s.paused and s.till == RETIRED then
    s.till, s.paused = int(ms - 1), false
    lapse(s)
    call('HSET', s.key, 'm', s.mark, 'b', s.by, 'p', packedpause(s))
  end
  local since, other, undecided = sighted(revisions, who, revision, ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], tonumber(s.mark), tonumber(ARGV[at + 8]), begin)
  call('PEXPIRE', s.journal, LIFE)
  call('PEXPIRE', revisions, LIFE)
  return series(s, since, other) .. undecided
end

-- An expiry is the first write: a store at maxmemory accepts the later writes.
call('PEXPIRE', KEYS[4], LIFE)
local out = verdicts((#KEYS - 5) / 4, open)
call('PEXPIRE', KEYS[2], LIFE)
call('PEXPIRE', KEYS[3], LIFE)
call('PEXPIRE', KEYS[4], LIFE)
call('PEXPIRE', KEYS[5], LIFE)
return out .. '\n' .. int(bytes('GET') or -1)
