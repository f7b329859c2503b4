-- place: stores the place of a list.
-- KEYS  1 places
-- ARGV  1 list    2 the place that must be stored, '' for none   3 the new one
-- Returns {'ok'}, or {'other', place} if another one is stored. Asked again it changes nothing.
local there = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if there == ARGV[3] then return {'ok'} end
if there ~= ARGV[2] then return {'other', there} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return {'ok'}
