-- payment is for scripts that record payments: it goes behind order.
--
-- A reference is known for one order: its key has the id.

-- payments are those that a record has: kind, reference, amount, currency, refunds.
local function payments(record)
  local found, items = {}, string.match(record, '^%a+ %d+ %d+ %d+ (%S+) ')
  for kind, reference, amount, currency, refunds in string.gmatch(items, ';(%l+):([^:;]+):(%d+):(%u*):%d+:([^:;]*)') do
    found[#found + 1] = {kind = kind, reference = reference, amount = amount, currency = currency, refunds = refunds}
  end
  return found
end

-- costs returns the amount of an order and its currency.
local function costs(record)
  local items, sum = string.match(record, '^%a+ %d+ %d+ %d+ (%S+) '), 0
  for quantity, price in string.gmatch(items, '=(%d+)@(%d+)') do sum = sum + quantity * price end
  return whole(sum), string.match(items, ';(%u+)') or ''
end

-- line is a payment as a record has it.
local function line(kind, reference, amount, currency, at, refunds)
  return kind .. ':' .. reference .. ':' .. amount .. ':' .. currency .. ':' .. whole(at) .. ':' .. refunds
end

-- claim assigns a reference to an order, for as long as orders are known. It returns
-- the answer to be given when that is not possible.
local function claim(key, id, known, most, retention)
  local other = redis.call('GET', key)
  if other and other ~= id then return {'taken', other} end
  if #known >= tonumber(most) then return {'many'} end
  redis.call('SET', key, id, 'PX', retention)
end
