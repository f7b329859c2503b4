-- The short way of release, for a lock that is the owner's and that nobody waits
-- for. It stands before all functions: they are made anew each time a script runs.

if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end

