-- clear: removes keys of the store. UNLINK, since a hash may have a field for each buyer.
--
-- KEYS  1 shelf, then keys
-- ARGV  1 epoch
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return {'ok'}
