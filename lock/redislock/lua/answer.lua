-- A part of the scripts that answer claims: an answer is
--   kind|mark|last|from|fence|node, the run it speaks of as it is stored,
--   +number|fence|attempt|verdict for each number that was settled

local TOLERANCE = 20 -- ms that a number may be granted early

local function reply(s, kind, about, from, fence, who)
  return kind .. '|' .. s.mark .. '|' .. s.last .. '|' .. (from or '0') .. '|' .. (fence or '0') .. '|' .. (who or '')
    .. (about or '') .. s.settled
end

-- stored is the run of a number as text, without reading the others.
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
