-- delete: ends the sale of a product without reserved items. Its sold items stay,
-- as its total, so that it can come back; nothing else can be ordered.
--
-- KEYS  1 put  2 stock  3 reserved  4 sold  5 restocked  6 offer
-- ARGV  1 sku  2 condition: see version.lua
--
-- Returns {'ok'} when it is deleted, by this call or one before, {'unknown'} when the product
-- was never known, {'reserved', how many}, or {'version', version} when it is not as the
-- condition wants it.
local sku = ARGV[1]
local put, offer = redis.call('HGET', KEYS[1], sku), redis.call('HGET', KEYS[6], sku)
if not put then return {'unknown'} end
if offer == '-' then return {'ok'} end
local no = refused(put, offer, ARGV[2])
if no then return no end
local reserved, sold = redis.call('HGET', KEYS[3], sku) or '0', redis.call('HGET', KEYS[4], sku) or '0'
if tonumber(reserved) ~= 0 then return {'reserved', reserved} end
redis.call('HSET', KEYS[6], sku, '-')
redis.call('HSET', KEYS[1], sku, sold)
redis.call('HSET', KEYS[2], sku, '0')
redis.call('HSET', KEYS[5], sku, sold .. ' -')
changed = true
return {'ok'}
