-- records: reads the records of orders, and when that was.
--
-- KEYS  the orders' records
--
-- Returns {now, record, …}, '' for each that is not there.
local answer = {whole(now())}
for _, record in ipairs(redis.call('MGET', unpack(KEYS))) do answer[#answer + 1] = record or '' end
return answer
