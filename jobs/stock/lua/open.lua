-- open: opens a shelf that was rebuilt: the last step.
--
-- KEYS  1 shelf
-- ARGV  1 epoch
--
-- Returns {'ok'}, or {'over'}.
redis.call('HDEL', KEYS[1], 'closed', 'stepped')
return {'ok'}
