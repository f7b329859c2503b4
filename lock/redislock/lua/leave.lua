-- leave takes a node off the list of those that live, and records when it left.
--
-- KEYS[1]  the nodes
-- ARGV     node
-- returns  1

-- include: nodes.lua

call('ZADD', KEYS[1], 'XX', int(-ms), ARGV[1])
return 1
