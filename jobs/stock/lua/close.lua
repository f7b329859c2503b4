-- close: closes a shelf that is to be rebuilt although its marks are whole.
--
-- KEYS  1 shelf
-- ARGV  1 the epoch  2 why: see lua/shelf.lua
--
-- Returns {'ok'}: it is closed, or of another epoch.
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('HSETNX', KEYS[1], 'closed', ARGV[2]) end
return {'ok'}
