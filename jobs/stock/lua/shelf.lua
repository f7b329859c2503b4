-- shelf goes before a script that changes a sale, and shelfend behind it: the script
-- runs only on a shelf that has all changes that its caller knows of.
--
-- The last key is the shelf, a hash: book (identity of the database that keeps it),
-- epoch (a random id, new with each rebuild), mark (the highest number that a
-- settlement was given), changes (how many changes were acknowledged in this epoch),
-- closed (why nothing may be changed; absent: it may), and, while it is rebuilt, stepped (when the
-- last step was made, Unix ms). The key before it counts the
-- changes that were acknowledged to this caller in the epoch: others may have made up
-- for changes that the store has lost, but only the caller makes its own. The last
-- three arguments are the epoch that the caller knows ('': it keeps no book), the
-- changes that it has seen in it, and its own among them (0 too when it was silent for
-- so long that the store may have forgotten them). The script sees none of these.
--
-- Returns {'shelf', why} instead of running the script: 'other' epoch, or none;
-- 'behind' the counts that the caller has seen; or why it is closed. Otherwise the script's
-- answer, and behind it the changes, and the caller's own. A script that acknowledges a
-- change sets changed.
local own, least, epoch = table.remove(ARGV), table.remove(ARGV), table.remove(ARGV)
local shelf, acknowledged = table.remove(KEYS), table.remove(KEYS)
local changed = false
local has = redis.call('HMGET', shelf, 'epoch', 'changes', 'closed')
if has[3] then return {'shelf', has[3]} end
if epoch ~= '' and has[1] ~= epoch then return {'shelf', 'other'} end
if epoch ~= '' and (tonumber(has[2]) < tonumber(least) or tonumber(redis.call('GET', acknowledged) or 0) < tonumber(own)) then
  redis.call('HSET', shelf, 'closed', 'behind')
  return {'shelf', 'behind'}
end
