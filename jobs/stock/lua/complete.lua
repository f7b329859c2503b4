-- complete goes before scripts that need the names of all products: it makes the set of names anew when it
-- has another number of them than there are products. A version that keeps no names has put some in.
local function complete(put, names)
  if redis.call('ZCARD', names) == redis.call('HLEN', put) then return end
  redis.call('DEL', names)
  local all, some = redis.call('HKEYS', put), {}
  for i, sku in ipairs(all) do
    some[#some + 1] = '0'
    some[#some + 1] = sku
    if #some == 1000 or i == #all then
      redis.call('ZADD', names, unpack(some))
      some = {}
    end
  end
end
