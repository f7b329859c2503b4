-- counts: reads all counts of a sale at one moment.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 unsettled  6 fresh  7 restocked  8 marks
--
-- Returns {unsettled, restocked, marks, sku, put, stock, reserved, sold, …}. A product that has a
-- count but was never put in has '' there.
local answer = {
  tostring(redis.call('ZCARD', KEYS[5]) + redis.call('ZCARD', KEYS[6])), tostring(redis.call('HLEN', KEYS[7])),
  redis.call('GET', KEYS[8]) or '0',
}
local products, seen = {}, {}
for column = 1, 4 do
  local fields = redis.call('HGETALL', KEYS[column])
  for i = 1, #fields, 2 do
    local sku = fields[i]
    if not seen[sku] then
      seen[sku] = {'', '', '', ''}
      products[#products + 1] = sku
    end
    seen[sku][column] = fields[i + 1]
  end
end
for _, sku in ipairs(products) do
  answer[#answer + 1] = sku
  for column = 1, 4 do answer[#answer + 1] = seen[sku][column] end
end
return answer
