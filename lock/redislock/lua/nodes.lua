-- The common part of the scripts on the list of nodes. The list is a sorted set. The score of a
-- node is the store's ms until which the node is alive, or, negative, when it left.
--
-- A step reads a bounded part of the list, and deletes some of the data that cannot be a node: a
-- list that was tampered with costs a beat no more than another.

local call = redis.call
local DAY = 86400000           -- ms: the longest time for which a node is alive, or is remembered
local LIVING, GONE = 1000, 200 -- how many are returned

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

local function int(x) return string.format('%.0f', x) end

-- range returns nodes, each followed by its score, upwards from the lowest score, or downwards from
-- the highest.
local function range(low, high, most, down)
  if down then return call('ZRANGE', KEYS[1], high, low, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES') end
  return call('ZRANGE', KEYS[1], low, high, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
end

-- living returns the live nodes, those whose time ends first coming first.
local function living() return range('(' .. int(ms), int(ms + DAY), LIVING) end

-- process returns the server's run id, which changes with a restart and differs between servers, or
-- '' if the user may not use INFO.
local function process()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end
