-- now reads the clock of a server.
--
-- KEYS, ARGV  none
-- returns     {the store's µs, its process}

-- include: nodes.lua

return {int(us), process()}
