-- beat records that a node is alive and returns all live nodes, or records that a node leaves.
--
-- KEYS[1]  the nodes
-- KEYS[2]  the store's µs at which a node came last
-- KEYS[3]  how many ms the clock of each node is ahead of the store's, only for display
-- ARGV     node, ms for which it is alive, or 0 if it leaves, the version of the list that it has, and how
--          many ms its clock is ahead
-- returns  {the store's µs, its process, the version of the list, then the nodes unless the node has that
--          version}; 1 if the node leaves

-- include: nodes.lua

if ARGV[2] == '0' then
  if tonumber(call('ZSCORE', KEYS[1], ARGV[1]) or 0) > 0 then call('ZADD', KEYS[1], int(-ms), ARGV[1]) end
  return 1
end

local NAME = 200   -- the longest name, in bytes
local MOST = 10000 -- how many nodes are kept
local DROP = 500   -- how many nodes one step deletes

local function drop(names)
  if #names > 0 then
    call('ZREM', KEYS[1], unpack(names))
    redis.pcall('HDEL', KEYS[3], unpack(names))
  end
  return #names
end

local function between(low, high) return call('ZRANGE', KEYS[1], low, high, 'BYSCORE', 'LIMIT', 0, DROP) end

-- tidy deletes nodes whose time has been over for a day, and scores that no beat can have written.
-- If there are too many nodes, it deletes first those that left or fell silent, then those whose
-- time ends last.
local function tidy()
  drop(between(int(DAY - ms), int(ms - DAY)))
  drop(between('(' .. int(ms + DAY), '+inf'))
  drop(between('-inf', '(' .. int(-ms - DAY)))
  if call('ZCARD', KEYS[1]) > MOST and drop(between('-inf', int(ms))) == 0 then
    drop(call('ZRANGE', KEYS[1], -DROP, -1))
  end
end

local ok, err = pcall(tidy)
if not ok then -- a key of another type would hide all nodes from each other
  if not string.find(type(err) == 'table' and err.err or tostring(err), 'WRONGTYPE', 1, true) then error(err) end
  call('DEL', KEYS[1])
end

-- came returns the store's µs at which a node came last, or 0. A count of the nodes that came would come again
-- after a failover that lost one.
local function came()
  local ok, at = pcall(call, 'GET', KEYS[2])
  return ok and tonumber(at) or 0
end

-- version returns a text that differs from each earlier one if the live nodes differ: fewer are alive
-- once one has gone, until another one comes.
local function version()
  return call('ZCOUNT', KEYS[1], '(' .. int(ms), int(ms + DAY)) .. '.' .. int(came())
end

-- offset records how many ms the node's clock is ahead: only a change is written. The expiry comes
-- first, since a server that is full accepts other writes behind it.
local function offset()
  call('PEXPIRE', KEYS[3], 2 * DAY)
  if call('HMGET', KEYS[3], ARGV[1])[1] ~= ARGV[4] then
    call('HSET', KEYS[3], ARGV[1], ARGV[4])
    call('PEXPIRE', KEYS[3], 2 * DAY)
  end
end

if not pcall(offset) then call('DEL', KEYS[3]) end -- it has another type: the offsets come back with the next beats
local before = call('ZSCORE', KEYS[1], ARGV[1])
call('ZADD', KEYS[1], int(ms + ARGV[2]), ARGV[1])
call('PEXPIRE', KEYS[1], 2 * DAY)
if not before or tonumber(before) <= ms then
  local last = came()
  call('SET', KEYS[2], int(last >= us and last < us + 1000 * DAY and last + 1 or us), 'PX', 2 * DAY)
end
local out, odd, listed = {int(us), process(), version()}, {}, false
if out[3] == ARGV[3] then return out end
local all = living()
for i = 1, #all, 2 do
  if #all[i] > NAME then
    if #odd < DROP then odd[#odd + 1] = all[i] end
  else
    listed = listed or all[i] == ARGV[1]
    out[#out + 1] = all[i]
  end
end
drop(odd)
if not listed then out[math.min(#out + 1, LIVING + 3)] = ARGV[1] end
return out
