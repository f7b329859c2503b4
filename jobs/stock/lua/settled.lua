-- settled: marks orders as being in the database, in the state that was written. An order that the
-- database refuses is forgotten, and its items are back in stock. One that has changed since stays
-- unsettled.
--
-- KEYS  1 fence  2 unsettled  3 fresh  4 due  5 marks (how many orders, ever)  6 stock  7 reserved
--       8 sold  9 bought, then the orders' records
-- ARGV  1 fence  2 how long closed orders are kept in ms, then per order:
--       id, stamp ('' when the store had no record), the database's order for which it refuses
--       this one ('' when it has this one)
--
-- Returns {'ok', how many are settled, by this call or one before}, or
-- {'fenced', fence} with the highest fence seen. Asked again it changes nothing.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local settled, moved = 0, 0
for i = 3, #ARGV, 3 do
  local id, written, instead, key = ARGV[i], ARGV[i + 1], ARGV[i + 2], KEYS[9 + i / 3]
  local record = redis.call('GET', key) or ''
  local state, due, items = string.match(record, '^(%a+) %d+ (%d+) %d+ (%S+) ')
  local same = written == '' and record == '' or state and written == stamp(record)
  if same then settled = settled + 1 end
  if same and redis.call('ZREM', KEYS[2], id) + redis.call('ZREM', KEYS[3], id) > 0 then
    moved = moved + 1
    if instead ~= '' then
      redis.call('ZREM', KEYS[4], id)
      if open(state) or state == 'paid' then
        move(items, open(state) and KEYS[7] or KEYS[8], '-')
        move(items, KEYS[6], '')
        untake(record, items, KEYS[9])
      end
      redis.call('DEL', key)
    elseif open(state) then
      redis.call('ZADD', KEYS[4], due, id)
    elseif state then
      redis.call('PEXPIRE', key, ARGV[2])
    end
  end
end
if moved > 0 then redis.call('INCRBY', KEYS[5], tostring(moved)) end
return {'ok', tostring(settled)}
