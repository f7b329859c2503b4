-- order is for scripts that change orders: it goes before them.
--
-- A record is one line: state, placed, due, changed (Unix ms), items, and the rest of
-- the order. Items are sku=quantity@price,sku=quantity@price;currency. Those of an
-- order that was placed before products had prices end with the quantity. Only
-- reserved may change.

-- now is the store's time in Unix ms, read once in a script.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- asked is what was asked for of items as they are recorded.
local function asked(items)
  local plain = string.gsub(string.gsub(items, ';.*', ''), '@%d+', '')
  return plain
end

-- whole prints a number without an exponent.
local function whole(n) return string.format('%.0f', n) end

-- held reports whether an order counts: one that is reserved must be on a list of those
-- that expire. A reserved record that is on neither was left over when the rest of the
-- sale was deleted around it.
local function held(id, record, fresh, due)
  if string.sub(record, 1, 9) ~= 'reserved ' then return true end
  return (redis.call('ZSCORE', fresh, id) or redis.call('ZSCORE', due, id)) and true
end

-- close moves a reserved order into its last state, and what it reserved into the
-- counts at to: stock or sold. It returns the new record. Removing comes first: it
-- works in a full store and lets the rest work too.
local function close(id, record, state, key, reserved, to, fresh, due, unsettled, at)
  local placed, limit, items, rest = string.match(record, '^reserved (%d+) (%d+) %d+ (%S+) (.*)$')
  redis.call('ZREM', fresh, id)
  redis.call('ZREM', due, id)
  for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
    redis.call('HINCRBY', reserved, sku, '-' .. quantity)
    redis.call('HINCRBY', to, sku, quantity)
  end
  record = state .. ' ' .. placed .. ' ' .. limit .. ' ' .. whole(at) .. ' ' .. items .. ' ' .. rest
  redis.call('SET', key, record)
  redis.call('ZADD', unsettled, 'NX', whole(at), id)
  return record
end
