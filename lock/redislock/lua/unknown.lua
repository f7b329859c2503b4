-- unknown returns the commands that the server does not know, because they are disabled or
-- renamed there. A known command that is called without arguments does nothing.
--
-- ARGV     the names of the commands
-- returns  the names of the unknown ones
local unknown = {}
for _, name in ipairs(ARGV) do
  local reply = redis.pcall(name)
  if type(reply) == 'table' and reply.err and string.find(string.lower(reply.err), 'unknown.*command') then
    table.insert(unknown, name)
  end
end
return unknown
