-- members returns the live nodes, and the latest nodes that left or fell silent. It
-- writes nothing.
--
-- KEYS[1]  the nodes
-- KEYS[2]  how many ms the clock of each node is ahead of the store's
-- returns  {the store's µs, its process, then for each node its name, its score and how many ms its clock
--          is ahead, or ''}

-- include: nodes.lua

local out = {int(us), process()}
for _, some in ipairs({
  living(),
  range('(' .. int(ms - DAY), int(ms), GONE, true),
  range(int(-ms - DAY), '(' .. int(DAY - ms), GONE),
}) do
  for i = 1, #some, 2 do
    local ahead = redis.pcall('HMGET', KEYS[2], some[i])
    out[#out + 1], out[#out + 2], out[#out + 3] = some[i], some[i + 1], ahead[1] or ''
  end
end
return out
