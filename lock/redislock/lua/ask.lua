-- ask goes on where the short way ends. It grants a lock that is free and that
-- nobody waits for, or that is kept for the asker. To barge is to take it before
-- those who wait, also if it is kept.
local function ask(lock, queue, me, ttl, seen, barge)
  if won then
    local passed = not barge and pass(lock, queue, fence, me)
    if passed == nil then
      remember(lock, fence)
      return {2, '0', 0}
    elseif not passed then
      return {1, fence, tonumber(ttl)}
    end
    text = redis.call('GET', lock)
  end

  local last, kept, owner, place = read(text)
  if not last then
    return {2, '0', 0}
  elseif owner == me and not kept then
    return {1, last, redis.call('PTTL', lock)}
  elseif owner == me or kept and barge then
    fence = math.max(now, seen + 1, last + 1)
    if fence > now + DAY then return {3, string.format('%.0f', fence), now} end
    if owner ~= me then
      back(queue, {place}, 1, redis.call('PTTL', queue))
    end
    fence = string.format('%.0f', fence)
    redis.call('SET', lock, fence .. '|' .. me, 'PX', ttl)
    return {1, fence, tonumber(ttl)}
  end
  return {0, '0', redis.call('PTTL', lock)}
end

