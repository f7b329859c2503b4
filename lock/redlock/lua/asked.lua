-- ARGV     the lease as it will be stored; its life and the memory after it, together in ms

local asked, attempt, memory, me = string.match(ARGV[1], '^(%d+)|(%d+)|(%d+)|(.*)$')
