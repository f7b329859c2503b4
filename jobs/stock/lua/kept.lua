-- kept: takes orders off the list of those to be looked up. One that the database
-- has lost is to be settled again. One that was settled since it was found stays on
-- the list: what was looked up may be from before.
--
-- KEYS  1 fence  2 recent  3 unsettled  4 settled  5 restored  6 disputed, then the
--       orders' records
-- ARGV  1 fence, then per order: id, settled when, stamp of the record that
--       the database has lost ('' when it has the order)
--
-- Returns {'ok', how many are settled again}, or {'fenced', fence} with the highest
-- fence seen. Asked again it changes nothing.
redis.call('ZREM', KEYS[2], '') -- a write that a full store allows lets the next one too
if not admit(KEYS[1], ARGV[1]) then return {'fenced', redis.call('GET', KEYS[1])} end
local at = now()
local k = {unsettled = KEYS[3], settled = KEYS[4], restored = KEYS[5], disputed = KEYS[6]}
local again = 0
for i = 2, #ARGV, 3 do
  local id, lost, key = ARGV[i], ARGV[i + 2], KEYS[6 + (i + 1) / 3]
  local same = redis.call('ZSCORE', KEYS[2], id) == ARGV[i + 1]
  if same and redis.call('ZREM', KEYS[2], id) == 1 and lost ~= '' then
    local record = redis.call('GET', key) or ''
    local state, items = string.match(record, '^(%a+) %d+ %d+ %d+ (%S+) ')
    if lost == stamp(record) and not redis.call('ZSCORE', KEYS[3], id) then
      again = again + 1
      unsettle(id, state, items, k, at)
      redis.call('PERSIST', key)
    end
  end
end
return {'ok', tostring(again)}
