-- rewrite: writes a line that cannot be read once more.
--
-- KEYS  1 its list
-- ARGV  1 field  2 the line as it was read  3 as it must be ('': it is removed)
--
-- Returns {how many}. One that has changed since stays.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return {'0'} end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return {'1'}
