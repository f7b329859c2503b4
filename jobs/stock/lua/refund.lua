-- refund: records that a payment goes back, once per payment. When it had paid the order
-- its items are back in stock, unless they were returned before.
--
-- KEYS  1 the order's record  2 stock  3 sold  4 unsettled  5 the reference  6 bought
-- ARGV  1 id  2 reference  3 the reference of the payment  4 how long the reference is
--       known in ms  5 how many payments an order may have
--
-- Returns {'ok', record} when the payment was refunded with this reference, by this call
-- or one before, {'refunded', reference} when it was with another, {'no payment'},
-- {'taken', id}, {'used', kind}, {'many'}, or {'unknown'} as pay does.
local k = {record = KEYS[1], unsettled = KEYS[4]}
local record = redis.call('GET', k.record)
if not record or leftOver(ARGV[1], record, k) then return {'unknown'} end
local known, payment = payments(record), nil
for _, p in ipairs(known) do
  if p.reference == ARGV[2] then
    if p.kind == 'refund' and p.refunds == ARGV[3] then return {'ok', record} end
    return {'used', p.kind}
  end
  if p.kind == 'refund' and p.refunds == ARGV[3] then return {'refunded', p.reference} end
  if p.reference == ARGV[3] and (p.kind == 'paid' or p.kind == 'surplus') then payment = p end
end
if not payment then return {'no payment'} end
redis.call('ZREM', k.unsettled, '') -- a write that a full store allows lets the next ones too
local refused = claim(KEYS[5], ARGV[1], known, ARGV[5], ARGV[4])
if refused then return refused end
local state, items = string.match(record, '^(%a+) %d+ %d+ %d+ (%S+) ')
local at = now()
changed = true
redis.call('ZADD', k.unsettled, 'NX', whole(at), ARGV[1])
if payment.kind == 'paid' then
  if state == 'paid' then
    move(items, KEYS[3], '-')
    move(items, KEYS[2], '')
    untake(record, items, KEYS[6])
  end
  state = 'refunded'
end
return {'ok', rewrite(k.record, record, state, line('refund', ARGV[2], payment.amount, payment.currency, at, ARGV[3]), at)}
