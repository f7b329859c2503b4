-- begin: closes a shelf that is to be rebuilt, for as long as that takes.
--
-- KEYS  1 shelf
-- ARGV  1 the database's identity  2 the new epoch  3 the book's epoch before
--       4 the book's mark  5 how many changes of its epoch it has
--
-- Returns {'ok'}, {'foreign', identity} when another database keeps the shelf, or
-- {'open'} when there is nothing wrong with it. A rebuild that was begun before is
-- over: each of its steps names its epoch, and is refused.
local has = redis.call('HMGET', KEYS[1], 'book', 'epoch', 'mark', 'closed', 'changes')
if has[1] and has[1] ~= ARGV[1] then return {'foreign', has[1]} end
if has[2] == ARGV[3] and not has[4] and tonumber(has[3]) >= tonumber(ARGV[4]) and tonumber(has[5]) >= tonumber(ARGV[5]) then
  return {'open'}
end
redis.call('HSET', KEYS[1], 'book', ARGV[1], 'epoch', ARGV[2], 'mark', ARGV[4], 'changes', '0', 'closed', 'restoring')
return {'ok'}
