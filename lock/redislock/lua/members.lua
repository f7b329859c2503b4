-- members returns the live nodes, and the latest nodes that left or fell silent. It
-- writes nothing.
--
-- KEYS[1]  the nodes
-- returns  {the store's µs, its process, then for each node its name and its score}

-- include: nodes.lua

local out = {int(us), process()}
for _, some in ipairs({
  living(),
  range('(' .. int(ms - DAY), int(ms), GONE, true),
  range(int(-ms - DAY), '(' .. int(DAY - ms), GONE),
}) do
  for _, x in ipairs(some) do out[#out + 1] = x end
end
return out
