-- release frees a plain lock, or keeps it for the first in its queue. An owner
-- that never saw its answer does not know its fence, and says 0.
--
-- KEYS[1]  the lock
-- KEYS[2]  its queue
-- KEYS[3]  a key that never exists: the write to it proves that this is a master
-- ARGV     owner, fence
-- returns  1 if the lock is not the owner's any more, 0 if another owner has it,
--          2 if the lock is for shared_free

return free(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])
