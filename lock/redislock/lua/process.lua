-- process tells which process of the server runs the script: its run id, which is
-- another after a restart and on another server; '' if the user may not ask.

local function process()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end

