-- touch writes, so that a WAIT has a write to wait for. WAIT counts the replicas that have the
-- writes of its own connection. Since Redis 7.2 a script that has nothing to write, because it ran
-- before, leaves WAIT nothing to wait for. The PEXPIRE comes first: a server at maxmemory accepts
-- the later writes.
--
-- KEYS[1]  a key of the same slot that is kept for a second

redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('SET', KEYS[1], '1', 'PX', 1000)
return 1
