-- clock.lua reads this server's clock, for the scripts that need it always.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = till - now > 0

