-- ARGV     the lease as it will be kept, its life and the memory after it in ms

local asked, attempt, memory, me = string.match(ARGV[1], '^(%d+)|(%d+)|(%d+)|(.*)$')
