-- leave gives up a place in the queue of a plain lock, and the lock if it was
-- granted to the owner or is kept for it.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue
-- KEYS[3]  a key that never exists
-- ARGV     owner, inbox
-- returns  1

redis.call('LREM', KEYS[2], 1, ARGV[2] .. '|' .. ARGV[1])
free(KEYS[1], KEYS[2], KEYS[3], ARGV[1], '0')
return 1
