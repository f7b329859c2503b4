-- mark: records the results of messages that a run took.
-- KEYS  1 status  2 fence   3 taken  4 sent  5 failed  6 expired  7 repeated  8 retry
--       9 queued  10 delivered  11 undelivered
-- ARGV  1 fence   2 run     then per message: id, take, outcome (sent, failed, expired,
--       retry, wait, back), delay in ms, unsure (requests that may have arrived), reason
-- Returns {'ok', code…} with a code per message: '1' marked, '0' marked before by the same
-- call, '-1' not this run's; or {'fenced', fence, run} with the highest fence seen if that is
-- not this run's. A repeated call changes nothing. A message that was delivered according to its
-- receipt counts as sent, even if the run reports another outcome.
local fence, run = ARGV[1], ARGV[2]
local seen = redis.call('HMGET', KEYS[2], 'fence', 'run')
if seen[1] ~= fence or seen[2] ~= run then
  return {'fenced', seen[1] or '0', seen[2] or '-'}
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

local function move(id, outcome, delay, unsure, reason, takes, attempts, sends, due)
  local state, set, score = outcome, KEYS[4], now
  sends = sends + unsure
  if redis.call('ZSCORE', KEYS[10], id) then
    if outcome == 'sent' then sends = sends + 1 end
    outcome, state, reason, sends = '', 'sent', 'delivered', math.max(1, sends)
  elseif outcome ~= 'sent' then
    redis.call('ZREM', KEYS[11], id) -- it waits, or has ended, anyway
  elseif redis.call('ZSCORE', KEYS[11], id) then
    reason = 'undelivered'
  end
  if outcome == '' then -- as it stands
  elseif outcome == 'sent' then
    sends = sends + 1
  elseif outcome == 'failed' then
    set = KEYS[5]
  elseif outcome == 'expired' then
    set = KEYS[6]
  elseif outcome == 'retry' or outcome == 'wait' then
    state, set, score = 'queued', KEYS[8], now + delay
    due = score
    if outcome == 'wait' then -- the gateway refused the sender, not the message
      attempts = attempts - 1
    end
  else -- back: no request was made
    state, set, score = 'queued', KEYS[9], due
    attempts = attempts - 1
  end
  -- Removing comes first: it works in a full store and lets the rest work too.
  redis.call('ZREM', KEYS[3], id)
  redis.call('HSET', KEYS[1], id, string.format('%s %s %.0f %.0f %s %.0f %.0f %s %s',
    state, takes, attempts, sends, fence, now, due, run, reason))
  redis.call('ZADD', set, string.format('%.0f', score), id)
  if state == 'sent' and sends > 1 then
    redis.call('ZADD', KEYS[7], string.format('%.0f', now), id)
  end
end

local answer = {'ok'}
for i = 3, #ARGV, 6 do
  local id, take, outcome = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local status = redis.call('HGET', KEYS[1], id) or ''
  local state, takes, attempts, sends, holder, due =
    string.match(status, '^(%a+) (%d+) (%d+) (%d+) (%d+) %d+ (%d+) ')
  if holder ~= fence or takes ~= take then
    answer[#answer + 1] = '-1'
  elseif state ~= 'taken' then
    answer[#answer + 1] = '0'
  else
    move(id, outcome, tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), ARGV[i + 5],
      takes, tonumber(attempts), tonumber(sends), tonumber(due))
    answer[#answer + 1] = '1'
  end
end
return answer
