-- beat tells that a node lives and returns all that do.
--
-- KEYS[1]  the nodes: a sorted set by the store's ms until which each lives
-- ARGV     node, ms that it lives for
-- returns  {the store's µs, its process, then the nodes}

local time = redis.call('TIME')
local ms = math.floor((time[1] * 1000000 + time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ms))
redis.call('ZADD', KEYS[1], string.format('%.0f', ms + ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], 86400000)
local nodes = redis.call('ZRANGE', KEYS[1], 0, -1)
table.insert(nodes, 1, string.format('%.0f', time[1] * 1000000 + time[2]))
table.insert(nodes, 2, process())
return nodes
