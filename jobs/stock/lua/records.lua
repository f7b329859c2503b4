-- records: reads the records of orders, and when that was.
--
-- KEYS  1 fresh  2 due  3 unsettled, then the orders' records
-- ARGV  the orders' ids
--
-- Returns {now, record, …}, '' for each that is not there, or was left over when the rest of the sale was deleted around it.
local answer = {whole(now())}
for i, id in ipairs(ARGV) do
  local k = {record = KEYS[i + 3], unsettled = KEYS[3]}
  local record = redis.call('GET', k.record)
  if record and (not held(id, record, KEYS[1], KEYS[2]) or leftOver(id, record, k)) then record = nil end
  answer[i + 1] = record or ''
end
return answer
