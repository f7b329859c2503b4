-- stream_add: adds events to a stream behind those that it has, each once.
--
-- KEYS  1 the stream
-- ARGV  1 the number of the event before the first  2 where the caller has found the stream
--       3 how many it keeps, about, then per event: number, identity, kind, order, payload
--
-- Returns {'ok'} when the stream has all of them, by this call or one before; {'other', id}
-- when it has another event under the id; or {'behind', last id} when it does not have the
-- event before the first, and is not where the caller has found it: it has lost some.
local last = top(KEYS[1])
local has = tonumber(string.match(last, '^%d+'))
if has < tonumber(ARGV[1]) and has ~= tonumber(ARGV[2]) then return {'behind', last} end
for i = 4, #ARGV, 5 do
  local id = ARGV[i] .. '-0'
  if tonumber(ARGV[i]) > has then
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], id, 'id', ARGV[i + 1], 'kind', ARGV[i + 2], 'order', ARGV[i + 3], 'event', ARGV[i + 4])
  else
    local entry = redis.call('XRANGE', KEYS[1], id, id)[1] -- a consumer may have deleted it
    if entry and entry[2][2] ~= ARGV[i + 1] then return {'other', id} end
  end
end
return {'ok'}
