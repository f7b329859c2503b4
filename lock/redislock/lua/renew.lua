-- renew moves the deadlines of plain leases to now + TTL, each for itself: an answer about
-- one lease says nothing about another.
--
-- KEYS     the locks, then for each a key that never exists, see below
-- ARGV     for each lock fence|owner, TTL in ms
-- returns  for each lock ms left, 0 if the lease is not alive under this owner and fence,
--          -1 if shared_renew must handle it, or "!error" if there is no answer
--
-- An expiry is the only write: a store at maxmemory accepts it. Before "lost",
-- a write that changes nothing proves that this is a master: a replica that
-- lags behind must not end a lease.

local n, replies = #KEYS / 2, {}
local texts = redis.call('MGET', unpack(KEYS, 1, n))

for i = 1, n do
  local lock, ttl = KEYS[i], ARGV[2 * i]
  if texts[i] == ARGV[2 * i - 1] then
    redis.call('PEXPIRE', lock, ttl)
    replies[i] = tonumber(ttl)
  else
    local text = redis.pcall('GET', lock) -- MGET returns nothing for a foreign type
    if type(text) == 'table' then
      replies[i] = '!' .. text.err
    else
      redis.call('PEXPIRE', KEYS[n + i], 1)
      replies[i] = text and string.sub(text, 1, 1) == '+' and -1 or 0
    end
  end
end
return replies
