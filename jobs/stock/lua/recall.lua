-- recall: puts an order back that the store has forgotten since it was settled, in its
-- last state.
--
-- KEYS  1 the order's record
-- ARGV  1 record  2 how long it is kept in ms
--
-- Returns {'ok'}. One that is there stays.
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {'ok'}
