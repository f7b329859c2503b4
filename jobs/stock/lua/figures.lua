-- figures: reads the metrics of a sale. It changes nothing.
--
-- KEYS  1 stock  2 fresh  3 unsettled  4 restocked  5 halted
-- ARGV  1 how many products at most
--
-- Returns {orders that are unsettled, products whose total is, products, products that are halted, now, since when the
-- oldest unsettled order is ('': none), the fresh one that is due first (''), sku, stock, …}. With more
-- products than at most it has none of them. It never has halted ones.
local t = redis.call('TIME')
local answer = {
  tostring(redis.call('ZCARD', KEYS[2]) + redis.call('ZCARD', KEYS[3])), tostring(redis.call('HLEN', KEYS[4])),
  tostring(redis.call('HLEN', KEYS[1])), tostring(redis.call('HLEN', KEYS[5])), string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)),
  redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or '', redis.call('ZRANGE', KEYS[2], 0, 0)[1] or '',
}
local stock = {}
if redis.call('HLEN', KEYS[1]) <= tonumber(ARGV[1]) then stock = redis.call('HGETALL', KEYS[1]) end
for i = 1, #stock, 2 do
  if redis.call('HEXISTS', KEYS[5], stock[i]) == 0 then
    answer[#answer + 1] = stock[i]
    answer[#answer + 1] = stock[i + 1]
  end
end
return answer
