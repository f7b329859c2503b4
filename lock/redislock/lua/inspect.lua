-- inspect tells who has a plain lock. It changes nothing: the write to a key
-- that never exists proves that this is a master.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue
-- KEYS[3]  a key that never exists
-- returns  {places in the queue, the lock or "", ms left}

redis.call('PEXPIRE', KEYS[3], 1)
return {redis.call('LLEN', KEYS[2]), redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1])}
