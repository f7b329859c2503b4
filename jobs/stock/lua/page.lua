-- page: reads the counts of some products, and how they are sold.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 offer
-- ARGV  skus
--
-- Returns per product: sku, put, stock, reserved, sold, offer ('': none). One that is not
-- known, or was deleted, is left out.
local answer, columns = {}, {}
if #ARGV == 0 then return answer end
for key = 1, 5 do columns[key] = redis.call('HMGET', KEYS[key], unpack(ARGV)) end
for i, sku in ipairs(ARGV) do
  if columns[1][i] and columns[5][i] ~= '-' then
    answer[#answer + 1] = sku
    for key = 1, 5 do answer[#answer + 1] = columns[key][i] or '' end
  end
end
return answer
