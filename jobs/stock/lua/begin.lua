-- begin: closes a shelf that is to be rebuilt, for as long as that takes.
--
-- KEYS  1 shelf
-- ARGV  1 the database's identity  2 the new epoch  3 the book's epoch before
--       4 the book's mark  5 how many changes of its epoch it has  6 for how many ms another
--       rebuild must have made no step
--
-- Returns {'ok'}, {'foreign', identity} when another database keeps the shelf,
-- {'open'} when there is nothing wrong with it, or {'restoring', for how many ms it has made no step} when
-- another rebuild has made a step since. Otherwise a rebuild that was begun before is over: each of its steps names its
-- epoch, and is refused.
local has = redis.call('HMGET', KEYS[1], 'book', 'epoch', 'mark', 'closed', 'changes', 'stepped')
if has[1] and has[1] ~= ARGV[1] then return {'foreign', has[1]} end
if has[2] == ARGV[3] and not has[4] and tonumber(has[3]) >= tonumber(ARGV[4]) and tonumber(has[5]) >= tonumber(ARGV[5]) then
  return {'open'}
end
local t = redis.call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local silent = at - tonumber(has[6] or 0)
if has[4] == 'restoring' and silent >= 0 and silent < tonumber(ARGV[6]) then
  return {'restoring', string.format('%.0f', silent)}
end
redis.call('HSET', KEYS[1], 'book', ARGV[1], 'epoch', ARGV[2], 'mark', ARGV[4], 'changes', '0', 'closed', 'restoring',
  'stepped', string.format('%.0f', at))
return {'ok'}
