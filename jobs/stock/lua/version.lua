-- version goes before the scripts that change a product on a condition: '' for none, '-' that
-- it is not known, '*' that it is, or versions, one of them its own.

-- version identifies the total and the offer of a product.
local function version(put, offer) return string.sub(redis.sha1hex(put .. ' ' .. (offer or '')), 1, 16) end

-- refused returns nil if a product is as wanted, otherwise {'version', the one it has}: '' when
-- it is not known.
local function refused(put, offer, wanted)
  if wanted == '' or wanted == '-' and not put or wanted == '*' and put then return nil end
  local now = put and version(put, offer) or ''
  for one in string.gmatch(wanted, '[^,"]+') do
    if one == now then return nil end
  end
  return {'version', now}
end
