-- touch writes something, for a WAIT to wait for: it counts the replicas that have what its own
-- connection wrote, and since Redis 7.2 a script that had nothing to write, since
-- it was asked before, leaves it nothing to wait for. The PEXPIRE comes first: a
-- server at maxmemory accepts what follows.
--
-- KEYS[1]  a key of the same slot that is there for a second

redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('SET', KEYS[1], '1', 'PX', 1000)
return 1
