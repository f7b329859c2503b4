-- pay: records a payment, once per reference, and makes the items of the order sold.
-- An order that is past its time is expired instead. A payment that an order in a last
-- state cannot take is recorded as a surplus, which is to be refunded.
--
-- KEYS  1 the order's record  2 stock  3 reserved  4 sold  5 fresh  6 due
--       7 unsettled  8 the reference  9 bought
-- ARGV  1 id  2 reference  3 amount  4 currency  5 how long the reference is known in ms
--       6 how many payments an order may have
--
-- Returns {'ok', record} when this payment has paid the order, by this call or one
-- before, {'closed', record} when it is a surplus, {'amount', amount, currency} that it
-- must have, {'taken', id} of the order that the reference belongs to, {'used', kind}
-- of the other use of the reference in this order, {'many'}, or {'unknown'}.
local k = {record = KEYS[1], reserved = KEYS[3], fresh = KEYS[5], due = KEYS[6], unsettled = KEYS[7],
  bought = KEYS[9]}
local record = redis.call('GET', k.record)
if not record or not held(ARGV[1], record, k.fresh, k.due) or leftOver(ARGV[1], record, k) then return {'unknown'} end
local known = payments(record)
for _, p in ipairs(known) do
  if p.reference == ARGV[2] then
    if p.kind ~= 'paid' and p.kind ~= 'surplus' then return {'used', p.kind} end
    if p.amount ~= ARGV[3] or p.currency ~= ARGV[4] then return {'amount', p.amount, p.currency} end
    return {p.kind == 'paid' and 'ok' or 'closed', record}
  end
end
local state, due = string.match(record, '^(%a+) %d+ (%d+) ')
local at = now()
local takes = open(state) and at < tonumber(due)
local amount, currency = costs(record)
if takes and (amount ~= ARGV[3] or currency ~= ARGV[4]) then return {'amount', amount, currency} end
redis.call('ZREM', k.unsettled, '') -- a write that a full store allows lets the next ones too
local refused = claim(KEYS[8], ARGV[1], known, ARGV[6], ARGV[5])
if refused then return refused end
changed = true
if takes then
  return {'ok', close(ARGV[1], record, 'paid', KEYS[4], k, at, line('paid', ARGV[2], ARGV[3], ARGV[4], at, ''))}
end
local surplus = line('surplus', ARGV[2], ARGV[3], ARGV[4], at, '')
if open(state) then return {'closed', close(ARGV[1], record, 'expired', KEYS[2], k, at, surplus)} end
redis.call('ZADD', k.unsettled, 'NX', whole(at), ARGV[1])
return {'closed', rewrite(k.record, record, state, surplus, at)}
