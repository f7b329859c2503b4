-- return: records that the items of a paid order came back, once, and puts them in stock.
--
-- KEYS  1 the order's record  2 stock  3 sold  4 unsettled  5 the reference  6 bought
-- ARGV  1 id  2 reference  3 how long the reference is known in ms  4 how many payments an
--       order may have
--
-- Returns {'ok', record} when they came back with this reference, by this call or one
-- before, {'unpaid', record} when the order is not paid, or no longer, {'taken', id},
-- {'used', kind}, {'many'}, or {'unknown'} as pay does.
local k = {record = KEYS[1], unsettled = KEYS[4]}
local record = redis.call('GET', k.record)
if not record or leftOver(ARGV[1], record, k) then return {'unknown'} end
local known = payments(record)
for _, p in ipairs(known) do
  if p.reference == ARGV[2] then
    if p.kind == 'return' then return {'ok', record} end
    return {'used', p.kind}
  end
end
local state, items = string.match(record, '^(%a+) %d+ %d+ %d+ (%S+) ')
if state ~= 'paid' then return {'unpaid', record} end
redis.call('ZREM', k.unsettled, '') -- a write that a full store allows lets the next ones too
local refused = claim(KEYS[5], ARGV[1], known, ARGV[4], ARGV[3])
if refused then return refused end
local _, currency = costs(record)
local at = now()
changed = true
redis.call('ZADD', k.unsettled, 'NX', whole(at), ARGV[1])
move(items, KEYS[3], '-')
move(items, KEYS[2], '')
untake(record, items, KEYS[6])
return {'ok', rewrite(k.record, record, 'returned', line('return', ARGV[2], '0', currency, at, ''), at)}
