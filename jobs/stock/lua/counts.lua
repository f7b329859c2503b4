-- counts: reads all counts of a sale at one moment.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 settled  6 returned  7 restored
--       8 unsettled  9 fresh  10 restocked  11 disputed  12 marks
--
-- Returns {unsettled, restocked, disputed, marks, now, since when the order is unsettled that is so
-- longest, of those that are more than reserved ('': none), sku, put, stock, reserved, sold,
-- settled, returned, restored, …}. A product that has a count but was never put in has '' there.
local t = redis.call('TIME')
local answer = {
  tostring(redis.call('ZCARD', KEYS[8]) + redis.call('ZCARD', KEYS[9])), tostring(redis.call('HLEN', KEYS[10])),
  tostring(redis.call('HLEN', KEYS[11])), redis.call('GET', KEYS[12]) or '0',
  string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), redis.call('ZRANGE', KEYS[8], 0, 0, 'WITHSCORES')[2] or '',
}
local products, seen = {}, {}
for column = 1, 7 do
  local fields = redis.call('HGETALL', KEYS[column])
  for i = 1, #fields, 2 do
    local sku = fields[i]
    if not seen[sku] then
      seen[sku] = {'', '', '', '', '', '', ''}
      products[#products + 1] = sku
    end
    seen[sku][column] = fields[i + 1]
  end
end
for _, sku in ipairs(products) do
  answer[#answer + 1] = sku
  for column = 1, 7 do answer[#answer + 1] = seen[sku][column] end
end
return answer
