-- acknowledged: reads the records of orders that the database may lack, from a shelf that is whole.
--
-- KEYS  1 shelf  2 fresh  3 unsettled  4 disputed, then the orders' records
-- ARGV  1 the epoch of the shelf  2 …: the orders' ids
--
-- Returns {'ok', record, …}, '' for an order that does not wait for its settlement: the database
-- has it, or neither has, and a record alone was left over when the rest was deleted around it. One that is
-- disputed, and of which the database has another, is an operator's. Or {'shelf', why} when the shelf is another one
-- by now, or closed.
local has = redis.call('HMGET', KEYS[1], 'epoch', 'closed')
if has[2] then return {'shelf', has[2]} end
if has[1] ~= ARGV[1] then return {'shelf', 'other'} end
local answer = {'ok'}
for i = 2, #ARGV do
  local id = ARGV[i]
  local waits = redis.call('ZSCORE', KEYS[2], id) or redis.call('ZSCORE', KEYS[3], id) or (redis.call('HGET', KEYS[4], id) or '') ~= ''
  answer[i] = waits and redis.call('GET', KEYS[i + 3]) or ''
end
return answer
