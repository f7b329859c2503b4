-- expire: closes reserved orders that are past their time, and puts their items
-- back in stock.
--
-- KEYS  1 fence  2 stock  3 reserved  4 due  5 fresh  6 unsettled  7 bought, then the
--       orders' records
-- ARGV  1 fence, then the orders' ids
--
-- Returns {'ok', code…} with a code per order: '1' expired, '0' paid, cancelled or
-- expired before, or not due yet, '-1' the store has lost its record or cannot
-- read it, which is left to the settlement to keep back; or
-- {'fenced', fence} with the highest fence seen. Asked again it changes nothing.
redis.call('ZREM', KEYS[4], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local at = now()
local k = {reserved = KEYS[3], fresh = KEYS[5], due = KEYS[4], unsettled = KEYS[6], bought = KEYS[7]}
local answer = {'ok'}
for i = 2, #ARGV do
  local id, key, code = ARGV[i], KEYS[i + 6], '0'
  local record = redis.call('GET', key)
  local state, due = string.match(record or '', '^(%a+) %d+ (%d+) %d+ %S+ ')
  if not open(state) then
    redis.call('ZREM', KEYS[4], id)
    redis.call('ZREM', KEYS[5], id)
    if record and not state then redis.call('ZADD', KEYS[6], 'NX', whole(at), id) end
    if not state then code = '-1' end
  elseif at >= tonumber(due) then
    k.record = key
    close(id, record, 'expired', KEYS[2], k, at)
    code = '1'
  end
  answer[#answer + 1] = code
end
return answer
