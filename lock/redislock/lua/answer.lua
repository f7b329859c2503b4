-- A part of the scripts that answer claims: an answer is
--   kind|mark|last|from|fence|node, the stored text of the run that it describes,
--   +number|fence|attempt|verdict for each number that was settled

local TOLERANCE = 20 -- ms that a number may be granted early

local function reply(s, kind, about, from, fence, who)
  return kind .. '|' .. s.mark .. '|' .. s.last .. '|' .. (from or '0') .. '|' .. (fence or '0') .. '|' .. (who or '')
    .. (about or '') .. s.settled
end

-- stored returns the stored text of the run of a number, without reading the other runs.
local function stored(s, number)
  local from = find(s.text, ';' .. number .. '|', 1, true)
  if not from then return '' end
  local to = find(s.text, ';', from + 1, true)
  return sub(s.text, from, to and to - 1 or -1)
end

local function passed(s, number, about)
  local who = about == '' and number == s.mark and s.by or ''
  return reply(s, 'p', about, '0', '0', who)
end
