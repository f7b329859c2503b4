-- clear: removes what the store had.
--
-- KEYS  1 shelf, then keys
-- ARGV  1 epoch
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return {'ok'}
