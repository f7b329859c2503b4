-- rebuild goes before the steps of a rebuild: they change the shelf only while it is
-- closed for theirs. Key 1 is the shelf, argument 1 the new epoch. The shelf has when
-- the last step was made.
--
-- Returns {'over'} when the shelf is not, or no longer.
local has = redis.call('HMGET', KEYS[1], 'epoch', 'closed')
if has[1] ~= ARGV[1] or has[2] ~= 'restoring' then return {'over'} end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'stepped', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)))
