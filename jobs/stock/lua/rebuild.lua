-- rebuild goes before the steps of a rebuild: they change the shelf only while it is
-- closed for theirs. Key 1 is the shelf, argument 1 the new epoch.
--
-- Returns {'over'} when the shelf is not, or no longer.
local has = redis.call('HMGET', KEYS[1], 'epoch', 'closed')
if has[1] ~= ARGV[1] or has[2] ~= 'restoring' then return {'over'} end
