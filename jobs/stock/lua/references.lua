-- references: puts references of payments onto a shelf that is being rebuilt.
--
-- KEYS  1 shelf, then the references
-- ARGV  1 epoch  2 how long they are known in ms, then the ids of their orders
--
-- Returns {'ok'}, or {'over'}.
for i = 3, #ARGV do redis.call('SET', KEYS[i - 1], ARGV[i], 'PX', ARGV[2]) end
return {'ok'}
