-- compare: compares the shelf with the book, and marks a new one as the book's for a caller that sells: the shelf of a
-- store that has lost everything looks new to a database without orders, which may be the wrong one.
--
-- KEYS  1 shelf  2 put  3 halted  4 number of changes acknowledged to the caller: see shelf.lua
-- ARGV  1 the database's identity  2 the book's epoch  3 the book's mark  4 how many
--       products the book has, while its mark is 0  5, 6 the epoch that the caller
--       knows and the changes that it has seen in it  7 its own among them  8 how many
--       changes of its epoch the book has  9 1 if the caller may open a new shelf
--
-- Returns {'open', changes, sku of a halted product, … up to ten}, {'foreign', identity} when another database keeps it,
-- {'other'} when it is of another epoch than the book, which the caller should read
-- again, or {'closed', why}. A shelf that has lost something is closed: it is not
-- there though the book has settled, its mark is behind the book's, or it has fewer
-- changes than the book or the caller has seen.
local has = redis.call('HMGET', KEYS[1], 'book', 'epoch', 'mark', 'changes', 'closed')
if has[1] and has[1] ~= ARGV[1] then return {'foreign', has[1]} end
if has[5] then return {'closed', has[5]} end
local seen, own = tonumber(ARGV[6]), tonumber(ARGV[7])
if ARGV[5] ~= ARGV[2] then seen, own = 0, 0 end -- of an epoch that is over
local function close(why)
  redis.call('HSET', KEYS[1], 'book', ARGV[1], 'closed', why)
  return {'closed', why}
end
if not has[2] then
  if tonumber(ARGV[3]) > 0 or seen > 0 or redis.call('HLEN', KEYS[2]) < tonumber(ARGV[4]) then return close('forgot') end
  if ARGV[9] ~= '1' then return {'closed', 'unopened'} end
  redis.call('HSET', KEYS[1], 'book', ARGV[1], 'epoch', ARGV[2], 'mark', '0', 'changes', '0')
  return {'open', '0'}
end
if has[2] ~= ARGV[2] then return {'other'} end
if tonumber(has[3]) < tonumber(ARGV[3]) or tonumber(has[4]) < math.max(seen, tonumber(ARGV[8])) then return close('behind') end
if tonumber(redis.call('GET', KEYS[4]) or 0) < own then return close('behind') end
redis.call('PEXPIRE', KEYS[4], 3600000)
local answer = {'open', has[4]}
for i, sku in ipairs(redis.call('HKEYS', KEYS[3])) do
  if i <= 10 then answer[#answer + 1] = sku end
end
return answer
