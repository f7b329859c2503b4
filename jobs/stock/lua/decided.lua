-- decided: forgets what was decided of a disputed order, once the book has it.
--
-- KEYS  1 disputed
-- ARGV  1 id
--
-- Returns {'ok'}.
if string.sub(redis.call('HGET', KEYS[1], ARGV[1]) or '', 1, 8) == 'decided ' then redis.call('HDEL', KEYS[1], ARGV[1]) end
return {'ok'}
