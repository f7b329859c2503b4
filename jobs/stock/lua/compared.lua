-- compared: ends a run of reconcile, and closes a shelf that has lost orders.
--
-- KEYS  1 fence  2 shelf
-- ARGV  1 fence  2 the epoch of the shelf that was compared  3 why it is closed: see lua/shelf.lua
--       ('': it is not)
--
-- Returns {'ok'}, also when the shelf is of another epoch or closed by now, or {'fenced', fence} with
-- the highest fence seen.
redis.call('HDEL', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
if ARGV[3] ~= '' and redis.call('HGET', KEYS[2], 'epoch') == ARGV[2] then redis.call('HSETNX', KEYS[2], 'closed', ARGV[3]) end
return {'ok'}
