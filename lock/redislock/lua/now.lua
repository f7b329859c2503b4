-- now reads the clock of a server.
--
-- KEYS, ARGV  none
-- returns     {the store's µs, its process}

-- include: process.lua

local time = redis.call('TIME')
return {string.format('%.0f', time[1] * 1000000 + time[2]), process()}
