-- shelf goes before a script that changes a sale, and shelfend behind it: the script
-- runs only on a shelf that has not lost what its caller knows of it.
--
-- The last key is the shelf, a hash: book (identity of the database that keeps it),
-- epoch (a random id, new with each rebuild), mark (the highest number that a
-- settlement was given), changes (how many changes were acknowledged in this epoch),
-- closed (why nothing may be changed; absent: it may). The last two arguments are the
-- epoch that the caller knows ('': it keeps no book) and the changes that it has
-- seen in it. The script sees neither.
--
-- Returns {'shelf', why} instead of running the script: 'other' epoch, or none;
-- 'behind' what the caller has seen; or why it is closed. Otherwise the script's
-- answer, and behind it the changes. A script that acknowledges a change sets changed.
local least, epoch, shelf = table.remove(ARGV), table.remove(ARGV), table.remove(KEYS)
local changed = false
local has = redis.call('HMGET', shelf, 'epoch', 'changes', 'closed')
if has[3] then return {'shelf', has[3]} end
if epoch ~= '' and has[1] ~= epoch then return {'shelf', 'other'} end
if epoch ~= '' and tonumber(has[2]) < tonumber(least) then
  redis.call('HSET', shelf, 'closed', 'behind')
  return {'shelf', 'behind'}
end
