-- buyers: puts the quantities of buyers onto a shelf that is being rebuilt.
--
-- KEYS  1 shelf  2 bought
-- ARGV  1 epoch, then buyer:sku, how many, …
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
return {'ok'}
