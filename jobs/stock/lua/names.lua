-- names: removes names that are those of no product, some at a time. When none is left, and there are as many
-- names as products, each product has its name.
--
-- KEYS  1 fence  2 names  3 put
-- ARGV  1 fence  2 the name that it begins behind ('': none)  3 how many names at most
--
-- Returns {'ok', the name that the next step begins behind ('': this was the last), how many it has removed},
-- or {'fenced', fence} with the highest fence seen.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local names = redis.call('ZRANGEBYLEX', KEYS[2], '(' .. ARGV[2], '+', 'LIMIT', '0', ARGV[3])
local next, removed = '', 0
if #names == tonumber(ARGV[3]) then next = names[#names] end
for _, sku in ipairs(names) do
  if redis.call('HEXISTS', KEYS[3], sku) == 0 then removed = removed + redis.call('ZREM', KEYS[2], sku) end
end
if next == '' then complete(KEYS[3], KEYS[2]) end
return {'ok', next, tostring(removed)}
