-- Which commands the server does not know: they are disabled or renamed there.
-- ARGV: their names. Called without arguments a command that is known does nothing.
-- Reply: the names.
local unknown = {}
for _, name in ipairs(ARGV) do
  local reply = redis.pcall(name)
  if type(reply) == 'table' and reply.err and string.find(string.lower(reply.err), 'unknown.*command') then
    table.insert(unknown, name)
  end
end
return unknown
