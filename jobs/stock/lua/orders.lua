-- orders: puts orders onto a shelf that is being rebuilt.
--
-- KEYS  1 shelf  2 due, then the orders' records
-- ARGV  1 epoch, then per order: id, record, until when it may be paid ('' of one
--       that is closed), how long it is kept in ms ('' for ever)
--
-- Returns {'ok'}, or {'over'}.
for i = 2, #ARGV, 4 do
  local key = KEYS[2 + (i + 2) / 4]
  redis.call('SET', key, ARGV[i + 1])
  if ARGV[i + 2] ~= '' then redis.call('ZADD', KEYS[2], ARGV[i + 2], ARGV[i]) end
  if ARGV[i + 3] ~= '' then redis.call('PEXPIRE', key, ARGV[i + 3]) end
end
return {'ok'}
