-- undispute: lets a shelf that is being rebuilt have orders as disputed no longer.
--
-- KEYS  1 shelf  2 disputed
-- ARGV  1 epoch, then ids
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
return {'ok'}
