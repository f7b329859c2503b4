-- missing: closes a shelf that lacks an order which the book has as open: it has lost it.
--
-- KEYS  1 shelf  2 fresh  3 due  4 the order's record
-- ARGV  1 the epoch of the shelf that was asked for it  2 the order's id  3 when the book's order was placed
--
-- Returns {id} when the order is missing, otherwise {}: also when the shelf is another one by now, or closed.
-- An order of the same id that was placed at another time is not the book's order: a store that came back had
-- reserved it too, before another store did.
local has = redis.call('HMGET', KEYS[1], 'epoch', 'closed')
if has[1] ~= ARGV[1] or has[2] then return {} end
local record = redis.call('GET', KEYS[4])
if record and string.match(record, '^%a+ (%d+) ') == ARGV[3] and held(ARGV[2], record, KEYS[2], KEYS[3]) then return {} end
redis.call('HSET', KEYS[1], 'closed', 'behind')
return {ARGV[2]}
