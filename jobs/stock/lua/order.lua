-- order is for scripts that change orders: it goes before them.
--
-- A record is one line: state, placed, due, changed (Unix ms), items, and the rest of
-- the order. Items are sku=quantity@price,sku=quantity@price;currency and, for each
-- payment, ;kind:reference:amount:currency:at:refunds, the oldest first. The rest is JSON, and
-- begins with the buyer if there is one.

-- now is the store's time in Unix ms, read once in a script.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- whole prints a number without an exponent.
local function whole(n) return string.format('%.0f', n) end

-- asked returns recorded items as the buyer ordered them.
local function asked(items)
  local plain = string.gsub(string.gsub(items, ';.*', ''), '@%d+', '')
  return plain
end

-- open reports whether an order in a state still holds its reservation.
local function open(state) return state == 'reserved' end

-- held reports whether an order counts: one that is open must be on a list of those
-- that expire. An open record that is on neither was left over when the rest of the
-- sale was deleted around it.
local function held(id, record, fresh, due)
  if not open(string.match(record, '^%a+')) then return true end
  return (redis.call('ZSCORE', fresh, id) or redis.call('ZSCORE', due, id)) and true
end

-- move adds the quantities of an order, times sign, to the counts at key.
local function move(items, key, sign)
  for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
    redis.call('HINCRBY', key, sku, sign .. quantity)
  end
end

-- buyer returns the buyer of an order, or nil.
local function buyer(record) return string.match(record, '^%a+ %d+ %d+ %d+ %S+ {"buyer":"([%w._-]+)"') end

-- untake subtracts the quantities of an order from the counts of its buyer, at key.
local function untake(record, items, key)
  local by = buyer(record)
  if not by then return end
  for sku, quantity in string.gmatch(items, '([^=,]+)=(%d+)') do
    if redis.call('HINCRBY', key, by .. ':' .. sku, '-' .. quantity) <= 0 then redis.call('HDEL', key, by .. ':' .. sku) end
  end
end

-- stamp distinguishes one state of a record from any other that it was or will be in.
local function stamp(record)
  local state, placed, items = string.match(record, '^(%a+) (%d+) %d+ %d+ (%S+) ')
  if not state then return nil end
  local _, payments = string.gsub(items, ';%l', '')
  return state .. ' ' .. placed .. ' ' .. payments
end

-- leftOver reports whether the record of an order in a last state was left over when the rest of
-- the sale was deleted around it, and counts nowhere: one that the database lacks is
-- unsettled, and one that it has expires.
local function leftOver(id, record, k)
  return not open(string.match(record, '^%a+')) and not redis.call('ZSCORE', k.unsettled, id)
    and redis.call('PTTL', k.record) == -1
end

-- rewrite gives a record another state and, unless it is '', one more payment. It
-- returns the new record.
local function rewrite(key, record, state, payment, at)
  local placed, limit, items, rest = string.match(record, '^%a+ (%d+) (%d+) %d+ (%S+) (.*)$')
  if payment ~= '' then items = items .. ';' .. payment end
  record = state .. ' ' .. placed .. ' ' .. limit .. ' ' .. whole(at) .. ' ' .. items .. ' ' .. rest
  redis.call('SET', key, record)
  return record
end

-- close moves an open order into a last state, and its items into the counts at
-- to: stock or sold. It returns the new record. k has the keys record, reserved, fresh,
-- due, unsettled and bought. Removing comes first: it works in a full store and lets the rest
-- work too.
local function close(id, record, state, to, k, at, payment)
  local placed, items = string.match(record, '^%a+ (%d+) %d+ %d+ (%S+) ')
  local since = redis.call('ZREM', k.fresh, id) == 1 and placed or whole(at) -- the database lacks it since then
  redis.call('ZREM', k.due, id)
  move(items, k.reserved, '-')
  move(items, to, '')
  if state ~= 'paid' then untake(record, items, k.bought) end
  record = rewrite(k.record, record, state, payment or '', at)
  redis.call('ZADD', k.unsettled, 'NX', since, id)
  return record
end
