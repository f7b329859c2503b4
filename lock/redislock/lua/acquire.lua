-- acquire asks for a plain lock once.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue
-- ARGV     owner, TTL in ms, the highest fence that the asker has seen, and if it
--          barges 1
-- returns  the fence if the lock was free and is the owner's for the whole TTL;
--          {1, fence, ms left} if it is the owner's, also when it asks again;
--          {0, "0", ms left} if another owner has it, or is the next; {2, "0", 0}
--          if the lock is for shared_ask; {3, fence, the store's µs} if the fence
--          would lie more than a day ahead: nothing was changed

return ask(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1')
