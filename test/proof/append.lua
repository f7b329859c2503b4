-- Appends a record to the ledger, with the time of the witness. A record with a fence is a write to a
-- guarded resource, which is refused if the resource has accepted a higher fence.
-- KEYS[1] the ledger, a stream    KEYS[2] the highest fence that the resource accepted
-- ARGV[1] the record    ARGV[2] its fence, or '' if it is no write
-- Returns 1, or 0 if the write was refused.
local refused = '0'
if ARGV[2] ~= '' then
  local seen = redis.call('GET', KEYS[2])
  if seen and tonumber(ARGV[2]) < tonumber(seen) then
    refused = '1'
  else
    redis.call('SET', KEYS[2], ARGV[2])
  end
end
local t = redis.call('TIME')
redis.call('XADD', KEYS[1], '*', 'record', ARGV[1], 'us', string.format('%d%06d', t[1], t[2]), 'refused', refused)
return refused == '0' and 1 or 0
