-- paused: reads the gateway's pause.
--
-- KEYS  1 fence
--
-- Returns {until, pauses, reason}, each '' if missing.
local p = redis.call('HMGET', KEYS[1], 'until', 'pauses', 'reason')
return {p[1] or '', p[2] or '', p[3] or ''}
