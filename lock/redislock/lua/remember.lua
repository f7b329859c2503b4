-- remember frees a lock and keeps its last fence, a bare number, until the server's clock is 10
-- seconds past the fence, which is the µs of its grant. So the fences of a lock grow as long as no
-- clock steps back, and no two masters' clocks differ, by more than that. A lock that was held for
-- longer leaves nothing: a PXAT that has passed deletes. A server at maxmemory accepts a SET after
-- another write.
local function remember(lock, fence)
  local till = string.format('%.0f', fence / 1000 + 10000)
  if redis.pcall('SET', lock, fence, 'PXAT', till).err then
    redis.call('PEXPIRE', lock, 1)
    redis.call('SET', lock, fence, 'PXAT', till)
  end
end

