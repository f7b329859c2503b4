-- stream is for scripts that know a stream of events: it goes before them.

-- top is the last id that a stream was given, also of an entry that it has no more.
local function top(key)
  if redis.call('EXISTS', key) == 0 then return '0-0' end
  local info = redis.call('XINFO', 'STREAM', key)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return info[i + 1] end
  end
end
