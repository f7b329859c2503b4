-- compare_orders: reads orders, and whether their state is on its way to the book.
--
-- KEYS  1 fresh  2 due  3 unsettled, then the orders' records
-- ARGV  the orders' ids
--
-- Returns per order: its record ('' when there is none), and the list that it is on: fresh,
-- due, unsettled, or ''.
local names, answer = {'fresh', 'due', 'unsettled'}, {}
for i, id in ipairs(ARGV) do
  answer[#answer + 1] = redis.call('GET', KEYS[i + 3]) or ''
  local list = ''
  for key = 3, 1, -1 do
    if list == '' and redis.call('ZSCORE', KEYS[key], id) then list = names[key] end
  end
  answer[#answer + 1] = list
end
return answer
