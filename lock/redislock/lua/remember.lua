-- remember frees a lock and keeps its last fence, a bare number, until the server's clock is 10
-- seconds past the fence, which is the µs of its grant. So the fences of a lock grow as long as no
-- clock steps back, and no two masters' clocks differ, by more than that. A lock that was held for
-- longer leaves nothing: a PXAT that has passed deletes. The script must have made another write
-- before: then a server at maxmemory accepts the SET.
local function remember(lock, fence)
  redis.call('SET', lock, fence, 'PXAT', string.format('%.0f', fence / 1000 + 10000))
end
