-- counts: reads all counts of a sale at one moment.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 settled  6 unsettled  7 fresh
--       8 restocked  9 disputed  10 marks
--
-- Returns {unsettled, restocked, disputed, marks, sku, put, stock, reserved, sold,
-- settled, …}. A product that has a count but was never put in has '' there.
local answer = {
  tostring(redis.call('ZCARD', KEYS[6]) + redis.call('ZCARD', KEYS[7])), tostring(redis.call('HLEN', KEYS[8])),
  tostring(redis.call('HLEN', KEYS[9])), redis.call('GET', KEYS[10]) or '0',
}
local products, seen = {}, {}
for column = 1, 5 do
  local fields = redis.call('HGETALL', KEYS[column])
  for i = 1, #fields, 2 do
    local sku = fields[i]
    if not seen[sku] then
      seen[sku] = {'', '', '', '', ''}
      products[#products + 1] = sku
    end
    seen[sku][column] = fields[i + 1]
  end
end
for _, sku in ipairs(products) do
  answer[#answer + 1] = sku
  for column = 1, 5 do answer[#answer + 1] = seen[sku][column] end
end
return answer
