-- get: reads one message.
--
-- KEYS  1 body    2 status
-- ARGV  1 id
--
-- Returns {id, body, status}, each '' if missing, or {} when the id is not in the outbox.
local body, status = redis.call('HGET', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], ARGV[1])
if not body and not status then return {} end
return {ARGV[1], body or '', status or ''}
