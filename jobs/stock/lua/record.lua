-- record: reads the record of an order, and the time of the read.
--
-- KEYS  1 fresh  2 due  3 unsettled  4 the order's record
-- ARGV  1 the order's id
--
-- Returns {now, record}, '' for a record that does not exist, or was left over when the rest of the sale was deleted around it.
local k = {record = KEYS[4], unsettled = KEYS[3]}
local record = redis.call('GET', k.record)
if record and (not held(ARGV[1], record, KEYS[1], KEYS[2]) or leftOver(ARGV[1], record, k)) then record = nil end
return {whole(now()), record or ''}
