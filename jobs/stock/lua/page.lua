-- page: reads the counts of some products, and how they are sold, in the order of their names.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 offer  6 names
-- ARGV  1 the name that the page begins behind ('': none)  2 how many names at most
--
-- Returns nothing when there is no product at all, otherwise {the name that the next page begins
-- behind ('': it is the last)}, and then per product: sku, put, stock, reserved, sold, offer ('':
-- none).
if redis.call('HLEN', KEYS[1]) == 0 then return {} end
local limit = tonumber(ARGV[2])
local names = redis.call('ZRANGEBYLEX', KEYS[6], '(' .. ARGV[1], '+', 'LIMIT', '0', tostring(limit + 1))
local answer, columns = {''}, {}
if #names > limit then
  names[#names] = nil
  answer[1] = names[limit]
end
if #names == 0 then return answer end
for key = 1, 5 do columns[key] = redis.call('HMGET', KEYS[key], unpack(names)) end
for i, sku in ipairs(names) do
  answer[#answer + 1] = sku
  for key = 1, 5 do answer[#answer + 1] = columns[key][i] or '' end
end
return answer
