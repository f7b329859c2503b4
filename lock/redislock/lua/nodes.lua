-- The part that the scripts on the list of nodes share. The list is a sorted set whose scores are
-- the store's ms until which each node lives, or, negative, when it left.
--
-- What is read is bounded, and what cannot be a node is dropped, some at a time: a
-- list that was tampered with costs a beat no more than one that was not.

local call = redis.call
local DAY = 86400000           -- ms: the longest that a node lives for, or is remembered
local LIVING, GONE = 1000, 200 -- how many are returned

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

local function int(x) return string.format('%.0f', x) end

-- range returns nodes, each followed by its score, from the lowest score on, or from
-- the highest down.
local function range(low, high, most, down)
  if down then return call('ZRANGE', KEYS[1], high, low, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES') end
  return call('ZRANGE', KEYS[1], low, high, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
end

-- living are the nodes that live, those first whose time ends first.
local function living() return range('(' .. int(ms), int(ms + DAY), LIVING) end

-- process is the server's run id, which is another after a restart and on another server;
-- '' if the user may not ask.
local function process()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end
